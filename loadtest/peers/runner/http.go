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

	"locklab/loadtest/peers/record"
	"locklab/versions"
)

const (
	// HTTP is a burst of page views through the app's balancer. The app's demo runs it, with instances and servers of its own; all
	// versions are in one run of it, so that what disturbs one disturbs the other.
	HTTP = "http"

	root       = "../.." // of the repository, from where the java worker is looked for, too
	demoWithin = 2 * time.Minute
)

func isVersion(lock string) bool {
	_, known := versions.Find(lock)
	return known
}

// build builds the app.
func (b *Bench) build(ctx context.Context) error {
	b.app = filepath.Join(b.dir, "app")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", b.app, "./cmd/app")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the app, for the workload %s: %w: %s", HTTP, err, bytes.TrimSpace(out))
	}
	return nil
}

// runHTTP runs the demo once, which does w.Count rounds of all versions in its own order. What goes wrong in it is part of the records; an
// error is the bench's own.
func (b *Bench) runHTTP(ctx context.Context, w Workload, names []string, rep int) ([]record.Run, error) {
	out, err := b.demo(ctx, w, names)
	var runs []record.Run
	if err == nil {
		runs, err = parseDemo(out, w, names, rep)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		runs = nil
		for _, v := range names {
			runs = append(runs, record.Run{Workload: w.Name, Lock: v, Rep: rep * w.Count, Waiters: w.Waiters, Want: w.Waiters, Failed: 1, Error: err.Error()})
		}
	}
	return runs, nil
}

// demo is what the app printed. Its exit status is the verdict, which its rows say, too.
func (b *Bench) demo(ctx context.Context, w Workload, names []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, demoWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.app, "demo", "--json", "--topology", "single", "--users", strconv.Itoa(w.Waiters),
		"--versions", strings.Join(names, ","), "--rounds", strconv.Itoa(w.Count), "--drivers", "2", "--think", "1ms")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LAB_") })
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its servers
	cmd.WaitDelay = slack
	parentDeathSignal(cmd)
	var out bytes.Buffer
	var said tail
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		return nil, fmt.Errorf("app demo: %w: %s", err, said.String())
	}
	return out.Bytes(), nil
}

// demoResult is what the runner wants to know of app demo --json.
type demoResult struct {
	Redis     string     `json:"redis"`
	Users     int        `json:"users"`
	Instances []struct{} `json:"instances"`
	Pageview  []pageview `json:"pageview"`
}

// pageview is one burst on one version.
type pageview struct {
	Round   int      `json:"round"`
	Version string   `json:"version"`
	TookMS  float64  `json:"took_ms"`
	Stale   int      `json:"stale"`
	Failed  []string `json:"failed"`
	Verdict string   `json:"verdict"`
	Why     string   `json:"why"`
	Lost    int      `json:"lost"`
}

// parseDemo makes a record of each version in each round. Each round is a repetition of its own: ratios are those inside one round.
func parseDemo(out []byte, w Workload, names []string, rep int) ([]record.Run, error) {
	var d demoResult
	if err := json.Unmarshal(out, &d); err != nil {
		return nil, fmt.Errorf("app demo --json: %w", err)
	}
	if d.Redis != "redis-server" {
		return nil, fmt.Errorf("app demo ran on %q", d.Redis)
	}
	if len(d.Pageview) != w.Count*len(names) {
		return nil, errors.New("app demo --json: a version or a round is missing")
	}
	var runs []record.Run
	for _, p := range d.Pageview {
		r := record.Run{
			Workload: w.Name, Lock: p.Version, Rep: rep*w.Count + p.Round - 1, Processes: len(d.Instances), Waiters: d.Users, Want: d.Users,
			Failed: len(p.Failed) + p.Stale, Lost: p.Lost, Seconds: p.TookMS / 1e3,
		}
		r.Done = d.Users - r.Failed
		r.Rate = float64(r.Done) / max(r.Seconds, 1e-9)
		if nothing := r.MayLose() && r.Lost+r.Failed == 0; p.Verdict != "supported" && !nothing { // v1 that lost nothing this time has its time
			r.Error = cmp.Or(p.Why, p.Verdict)
		}
		runs = append(runs, r)
	}
	return runs, nil
}
