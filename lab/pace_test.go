package lab

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

// Only a slow machine lengthens leases, and says by how much.
func TestAPaceSaysWhatFollows(t *testing.T) {
	for p, want := range map[Pace]string{0: "as fast as a quiet one", 1: "as fast as a quiet one", 2.5: "2.5 times slower"} {
		if got := p.String(); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", float64(p), got, want)
		}
	}
}

// Each measurement of the pace starts servers. One that is cut short has an error, and no pace but that of a quiet machine.
func TestThePaceIsMeasured(t *testing.T) {
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

// The measured work takes longer beside busy processes.
func TestABusyMachineHasASlowerPace(t *testing.T) {
	testenv.Slow(t)
	before, err := startServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 16 * runtime.GOMAXPROCS(0) {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = busy.Process.Kill(); _ = busy.Wait() })
	}
	if beside, err := startServers(t.Context()); err != nil || beside < before {
		t.Errorf("%s before, %s beside busy processes, %v", before, beside, err)
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
