//go:build !linux

package runner

import (
	"os/exec"
	"time"
)

// cpu is not measured here.
func cpu(int) time.Duration { return 0 }

func parentDeathSignal(*exec.Cmd) {}

func sleepUntil(due time.Time) { time.Sleep(time.Until(due)) }
