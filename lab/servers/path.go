package servers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sbin has programs that Debian installs where only root's PATH looks: nginx and mariadbd.
var sbin = []string{"/usr/local/sbin", "/usr/sbin"}

// init adds these folders at the end of the PATH, for all that looks for a program here, and for each process that is started.
func init() {
	folders := filepath.SplitList(os.Getenv("PATH"))
	for _, folder := range sbin {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	_ = os.Setenv("PATH", strings.Join(folders, string(os.PathListSeparator)))
}
