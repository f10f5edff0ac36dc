package scorecard

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"locklab/lab/clients"
)

// shiftSource is a library that a process loads in place of the system's functions for the time.
//
//go:embed clock/shift.c
var shiftSource string

// clockShift is how far the clock of a copy is ahead, in seconds: longer than any lease of the lab, and its waits.
const clockShift = 300

// clockOf says why the clock of a process cannot be changed; empty: it can.
func clockOf(pid int) (fixed string) {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	program, err := elf.Open(exe)
	if err != nil {
		return "the lab changes the clock of a process on Linux only"
	}
	defer func() { _ = program.Close() }()
	_, notGo := buildinfo.ReadFile(exe)
	dynamic := slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	switch _, noCompiler := exec.LookPath("cc"); {
	case notGo == nil, !dynamic:
		return "the lab cannot change the clock of a program in Go, or of one that loads no libraries"
	case noCompiler != nil:
		return "the lab needs a C compiler (cc) to change the clock of a process"
	}
	return ""
}

// startAhead starts a copy whose wall clock is ahead.
func (b *bench) startAhead(ctx context.Context, name string) *process {
	dir := b.Stack.Dir()
	source, library := filepath.Join(dir, "shift.c"), filepath.Join(dir, "shift.so")
	b.Must(os.WriteFile(source, []byte(shiftSource), 0o600))
	text, err := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl").CombinedOutput()
	if err != nil {
		b.Must(fmt.Errorf("the library that changes a clock cannot be built: %w: %s", err, text))
	}
	p := b.start(ctx, name, "/usr/bin/env", "LD_PRELOAD="+library, fmt.Sprintf("LAB_CLOCK_SHIFT=%d", clockShift))
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID()))
	b.Must(err)
	if !strings.Contains(string(maps), library) {
		b.Must(errors.New("the program has not loaded the library that changes its clock"))
	}
	b.Fault(name, "clock ahead", fmt.Sprintf("its process loads a library that adds %d s to the wall clock", clockShift))
	return p
}

// differentClocks lets A hold the key, and B wait for it. The clock of one of them is ahead. B is granted the key when A has died.
func differentClocks(holderAhead, waiterAhead bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		start := func(name string, ahead bool) *process {
			if ahead {
				return b.startAhead(ctx, name)
			}
			return b.start(ctx, name)
		}
		a, other := start("A", holderAhead), start("B", waiterAhead)
		b.mustServe(ctx, []*process{a, other})
		r := clients.NewResource(b.Trial, false)
		h := a.holds(ctx, key)
		value := r.Read(h)
		if next := other.acquire(ctx, b.lease/2); next != nil {
			b.mustKeep(h, next.Granted)
			r.Add(next)
			release(ctx, next)
		}
		r.Write(h, value+1)
		a.Kill()
		if next := b.freed(ctx, other, "its holder's end"); next != nil && b.program.Claims.Tokens {
			b.mustGrow(h, next)
		}
	}
}
