package machine

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Program is one that a cluster starts: its name or its path, and the package of Debian that has it.
type Program struct{ File, Debian string }

// Missing names the packages of the programs that are not there, or is nil. Without one of them a cluster would start, and wait for its
// containers without end.
func Missing(programs []Program) error {
	var packages []string
	for _, p := range programs {
		if _, err := exec.LookPath(p.File); err != nil && !slices.Contains(packages, p.Debian) {
			packages = append(packages, p.Debian)
		}
	}
	if len(packages) == 0 {
		return nil
	}
	return fmt.Errorf("programs are missing: apt-get install %s", strings.Join(packages, " "))
}
