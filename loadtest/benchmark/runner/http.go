package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab/report/benchfile"
)

const (
	// HTTP is a burst of page views through the app's balancer. The app's demo runs it, with instances and servers of its own. All versions
	// are in one run of it, so that a disturbance of one disturbs the others.
	HTTP = "http"

	root        = "../.." // of the repository, relative to this module
	demoTimeout = 2 * time.Minute
)

func (b *Bench) build(ctx context.Context) error {
	b.app = filepath.Join(b.stack.Dir(), "app")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", b.app, "./cmd/app")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the app, for the workload %s: %w: %s", HTTP, err, bytes.TrimSpace(out))
	}
	return nil
}

// runHTTP runs the demo once, which does w.Count rounds of all versions in its own order. An error of the demo is part of the records; the
// error returned is the bench's own.
func (b *Bench) runHTTP(ctx context.Context, w Workload, names []string, rep int) (runs []benchfile.Run, _ error) {
	out, err := b.demo(ctx, w, names)
	if err == nil {
		runs, err = parseDemo(out, w, names, rep)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		runs = nil
		for _, v := range names {
			runs = append(runs, benchfile.Run{
				Workload: w.Name, Lock: v, Rep: rep * w.Count, Waiters: w.Waiters, Want: w.Waiters, Failed: 1, Error: err.Error(),
			})
		}
	}
	return runs, nil
}

// demo is what the app printed. Its exit status is the verdict, which its rows contain, too.
func (b *Bench) demo(ctx context.Context, w Workload, names []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.app, "demo", "--json", "--topology", "single", "--users", strconv.Itoa(w.Waiters),
		"--versions", strings.Join(names, ","), "--rounds", strconv.Itoa(w.Count), "--drivers", "2", "--think", "1ms")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LAB_") })
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its servers
	cmd.WaitDelay = slack
	out, err := cmd.Output()
	if len(out) > 0 {
		return out, nil
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	return nil, fmt.Errorf("app demo: %w", err)
}

// parseDemo makes a record of each version in each round from `app demo --json`. Each round is a repetition of its own, so that a ratio is
// one inside a round.
func parseDemo(out []byte, w Workload, names []string, rep int) (runs []benchfile.Run, _ error) {
	var demo struct {
		Redis     string
		Users     int
		Instances []struct{}
		Pageview  []struct {
			Round, Stale, Lost    int
			Version, Verdict, Why string
			TookMS                float64 `json:"took_ms"`
			Failed                []string
		}
	}
	if err := json.Unmarshal(out, &demo); err != nil {
		return nil, fmt.Errorf("app demo --json: %w", err)
	}
	if demo.Redis != "redis-server" {
		return nil, fmt.Errorf("app demo ran on %q", demo.Redis)
	}
	if len(demo.Pageview) != w.Count*len(names) {
		return nil, errors.New("app demo --json: a version or a round is missing")
	}
	for _, p := range demo.Pageview {
		r := benchfile.Run{
			Workload: w.Name, Lock: p.Version, Rep: rep*w.Count + p.Round - 1, Processes: len(demo.Instances), Waiters: demo.Users, Want: demo.Users,
			Failed: len(p.Failed) + p.Stale, Lost: p.Lost, Seconds: p.TookMS / 1e3,
		}
		r.Done = demo.Users - r.Failed
		r.Rate = float64(r.Done) / max(r.Seconds, 1e-9)
		// A version that may lose updates and lost none this time has a time all the same.
		if none := r.MayLose() && r.Lost+r.Failed == 0; p.Verdict != "as expected" && !none {
			r.Error = cmp.Or(p.Why, p.Verdict)
		}
		runs = append(runs, r)
	}
	return runs, nil
}
