package testenv

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Processes lists the command lines of processes whose command line or environment contains text, where /proc tells. A server may give
// itself another command line. This process is none of them.
func Processes(text string) (lines []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline")) // a process may have ended
		environment, _ := os.ReadFile(filepath.Join(folder, "environ"))
		own := filepath.Base(folder) == strconv.Itoa(os.Getpid())
		if !own && bytes.Contains(slices.Concat(line, environment), []byte(text)) {
			lines = append(lines, string(line))
		}
	}
	return lines
}
