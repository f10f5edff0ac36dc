package doctor

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
)

const leastFiles = 4096 // 2000 connections have two ends, and then some

// limits checks how many files a child of this program may open: k6 is started from the same shell.
// Go has raised this process's own limit, and gives a child the one from before. The limits inside
// containers are others, which the Compose file sets.
func (m machine) limits(ctx context.Context) []Result {
	if runtime.GOOS == "windows" {
		return ok("Windows has none for open files")
	}
	got, err := m.run(ctx, "sh", "-c", "ulimit -n")
	if err != nil {
		return problem("sh does not say: "+said(err), fmt.Sprintf("ulimit -n must say %d or more", leastFiles))
	}
	found := got.out + " open files"
	if n, err := strconv.Atoi(got.out); err == nil && n < leastFiles { // else it is "unlimited"
		return problem(found, "ulimit -n 8192 in the terminal that starts k6 or JMeter; when that is refused: ulimits in /etc/security/limits.conf")
	}
	return ok(found)
}
