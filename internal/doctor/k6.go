package doctor

import (
	"context"
	"errors"
	"os/exec"
)

const howToGetK6 = "install k6 1.0 or newer: https://grafana.com/docs/k6/latest/set-up/install-k6/; without: docker compose run --rm k6, and --skip k6"

// k6 checks the program on the PATH. The one in a container is an image: see images.
func (m machine) k6(ctx context.Context) []Result {
	got, err := m.run(ctx, "k6", "version")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return problem("no k6 on the PATH", howToGetK6)
	case err != nil:
		return problem(said(err), howToGetK6)
	}
	newEnough, known := atLeast(got.out, 1, 0)
	switch {
	case !known:
		return ok(lastLine(got.out) + ": built by somebody, its version is not known; taken as new enough (1.0)")
	case !newEnough:
		return problem(version(got.out)+"; it must be 1.0 or newer", howToGetK6)
	}
	return ok(version(got.out))
}
