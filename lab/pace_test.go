package lab

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"locklab/lab/testenv"
)

func TestPaceIsBounded(t *testing.T) {
	for took, want := range map[time.Duration]Pace{
		0: 1, quietStart / 2: 1, quietStart: 1, 5 * quietStart / 2: 2.5, 4 * quietStart: 4, time.Hour: slowest,
	} {
		if got := paceOf(took); got != want {
			t.Errorf("%s: %v, want %v", took, got, want)
		}
	}
}

// Each measurement of the pace starts servers. One that is cut short has an error, and no pace but that of a quiet machine.
func TestThePaceIsMeasured(t *testing.T) {
	testenv.Slow(t)
	if p, err := MeasurePace(t.Context()); err != nil || p < 1 || p > slowest {
		t.Errorf("%v, %v", p, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := MeasurePace(ended); !errors.Is(err, context.Canceled) || p != 1 {
		t.Errorf("cut short: %v, %v", p, err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if p, err := MeasurePace(t.Context()); err == nil || p != 1 {
		t.Errorf("without a folder for the servers: %v, %v", p, err)
	}
}

// Every duration of a trial grows with the pace of its run, which the record names. A run without a pace is one on a quiet machine.
func TestDurationsFollowThePace(t *testing.T) {
	for pace, want := range map[Pace]time.Duration{0: time.Second, 1: time.Second, 2.5: 2500 * time.Millisecond} {
		var scaled time.Duration
		e := withVariant(func(_ context.Context, t *Trial) { scaled = t.Scaled(time.Second) })
		run := Run(t.Context(), e, Options{Trials: 1, Store: t.TempDir(), Pace: pace})
		saved, err := Load(run.Dir)
		if err != nil || saved.Pace != pace || scaled != want {
			t.Errorf("pace %v: a second is %s, want %s; the record has %v, %v", pace, scaled, want, saved.Pace, err)
		}
	}
}
