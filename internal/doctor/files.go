package doctor

import (
	"context"
	"fmt"
	"path/filepath"
)

// files checks that there is a lab to bring up.
func (m machine) files(context.Context) []Result {
	dir := m.lab.Dir
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	if m.lab.Err != nil {
		return problem(m.lab.Err.Error(), "run it in the checkout, or name that with --dir; until then buildx, images, ports and subnet are not checked")
	}
	return ok(fmt.Sprintf("docker-compose.yml in %s: %d images, %d ports", dir, len(m.lab.Images), len(m.lab.Ports)))
}
