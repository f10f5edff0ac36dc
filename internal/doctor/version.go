package doctor

import (
	"fmt"
	"regexp"
	"strconv"
)

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)(?:\.\d+)?`)

// version is the first in text that looks like one, "" when none does.
func version(text string) string { return versionNumber.FindString(text) }

// atLeast reports whether the version in text is major.minor or newer; known is false for a text
// without a version, such as "dev".
func atLeast(text string, major, minor int) (newEnough, known bool) {
	parts := versionNumber.FindStringSubmatch(text)
	if parts == nil {
		return false, false
	}
	x, _ := strconv.Atoi(parts[1])
	y, _ := strconv.Atoi(parts[2])
	return x > major || x == major && y >= minor, true
}

// bytes in the unit that Docker's settings have.
func gib(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

const oneGiB = 1 << 30
