package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"locklab/experiments/history"
)

// The files of a saved run.
const (
	runFile     = "run.json"
	historyFile = "history.jsonl"
	verdictFile = "verdict.json"
	ReportFile  = "report.html" // written by whoever has a report
	latest      = "latest"
)

// Save writes r and its judgement below store, in <id>/<time>, and lets store/<id>/latest point there. It returns the run's
// directory. The history is written first: a run without it is none, and a history without a run can be read.
func Save(store string, r Record, j Judgement) (dir string, err error) {
	name := r.Began.UTC().Format("20060102T150405.000Z")
	dir = filepath.Join(store, r.Experiment, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save the run: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, historyFile))
	if err != nil {
		return dir, fmt.Errorf("save the run: %w", err)
	}
	if err := errors.Join(history.Encode(file, r.Events...), file.Close()); err != nil {
		return dir, fmt.Errorf("save the run: %w", err)
	}
	if err := errors.Join(writeJSON(dir, runFile, r), writeJSON(dir, verdictFile, j)); err != nil {
		return dir, fmt.Errorf("save the run: %w", err)
	}
	return dir, point(filepath.Join(store, r.Experiment, latest), name)
}

// point makes link lead to target, at one stroke.
func point(link, target string) error {
	next := fmt.Sprintf("%s.%d", link, time.Now().UnixNano())
	if err := os.Symlink(target, next); err != nil {
		return fmt.Errorf("save the run: %w", err)
	}
	return os.Rename(next, link)
}

func writeJSON(dir, name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644)
}

// Load reads a saved run. An error says what is wrong with it; then nothing can be concluded.
func Load(dir string) (r Record, err error) {
	text, err := os.ReadFile(filepath.Join(dir, runFile))
	if err != nil {
		return r, err
	}
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return r, fmt.Errorf("%s is damaged: %w", runFile, err)
	}
	if head.Format != Format {
		return r, fmt.Errorf("%s has the format %d, and this program reads %d: judge it with the program that made it", runFile, head.Format, Format)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is damaged: %w", runFile, err)
	}
	file, err := os.Open(filepath.Join(dir, historyFile))
	if err != nil {
		return r, err
	}
	defer file.Close()
	if r.Events, err = history.Decode(file); err != nil {
		return r, fmt.Errorf("%s is damaged or cut short: %w", historyFile, err)
	}
	if len(r.Events) != r.Count {
		return r, fmt.Errorf("%s has %d events, and should have %d", historyFile, len(r.Events), r.Count)
	}
	return r, nil
}
