package testenv

import (
	"bytes"
	"os"
	"path/filepath"
)

// Processes lists the command lines that contain text, where /proc tells.
func Processes(text string) (lines []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(text)) {
			lines = append(lines, string(line))
		}
	}
	return lines
}
