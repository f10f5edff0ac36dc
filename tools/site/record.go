package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/redis/go-redis/v9/logging"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/live/story"
	"locklab/lab/servers"
)

// recordedRuns has the runs that the story of the site plays, by the id of the experiment.
const recordedRuns = "lab/live/story/recorded"

// record runs every scene of the story once, on this machine, and keeps the runs. A run that does not show what its scene is about changes
// nothing.
func record(ctx context.Context) error {
	logging.Disable() // go-redis logs the connections that the scenes break
	program, remove, err := buildApp(ctx)
	if err != nil {
		return err
	}
	defer remove()
	pace, err := lab.MeasurePace(ctx)
	if err != nil {
		return err
	}
	store, err := os.MkdirTemp("", "locklab-record-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(store) }() // the system empties the folder for temporary files
	for _, scene := range story.Scenes {
		e, err := scene.In(claims.All())
		if err != nil {
			return err
		}
		fmt.Println("recording", e.ID, scene.Title)
		r := lab.Run(ctx, e, lab.Options{Trials: 1, Real: servers.RealRedis(), App: []string{program, "serve"}, Pace: pace, Store: store})
		if r.Judgement.Verdict != lab.AsExpected || r.NotSaved != "" {
			return fmt.Errorf("%s is %s: %s%s; record again", e.ID, r.Judgement.Verdict, r.Judgement.Why, r.NotSaved)
		}
		if err := keep(r.Dir, filepath.Join(recordedRuns, e.ID)); err != nil {
			return err
		}
	}
	return nil
}

// keep copies a saved run, without its report.
func keep(run, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"run.json", "history.jsonl"} {
		text, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// buildApp builds the program whose instances the first scenes load.
func buildApp(ctx context.Context) (program string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "locklab-app-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // the system empties the folder for temporary files
	program = filepath.Join(dir, "app")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/app")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		remove()
		return "", nil, fmt.Errorf("building cmd/app: %w", err)
	}
	return program, remove, nil
}
