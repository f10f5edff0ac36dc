package doctor

import (
	"context"
	"fmt"
	"time"
)

// mostDrift is how far the engine's clock may be from ours. Locks expire by both.
const mostDrift = time.Second

// clock checks that ours is not before the program was built, and that the engine's is the same. A
// clock that is wrong in the other direction is not noticed, nor a drift within the time that docker
// takes to answer.
func (m machine) clock(ctx context.Context) []Result {
	before := time.Now()
	if before.Before(m.lab.Built) {
		return problem(fmt.Sprintf("it is %s here, and the program was built on %s", before.UTC().Format(time.DateTime), m.lab.Built.UTC().Format(time.DateTime)), "set the clock of this machine")
	}
	got, err := m.run(ctx, "docker", "info", "--format", "{{.SystemTime}}")
	engine, unreadable := time.Parse(time.RFC3339Nano, got.out)
	if err != nil || unreadable != nil {
		return ok(before.Format(time.RFC3339) + "; Docker's could not be asked")
	}
	drift := driftOf(engine, before, time.Now())
	if drift.Abs() > mostDrift {
		return problem(fmt.Sprintf("Docker's clock is %s", apart(drift)), "restart Docker Desktop: the clock of its machine stands still while a laptop sleeps; in WSL: wsl --shutdown")
	}
	return ok(before.Format(time.RFC3339) + "; Docker's is the same")
}

// driftOf is how far the engine's clock is outside of the time in which it was asked; negative: behind.
func driftOf(engine, before, after time.Time) time.Duration {
	switch {
	case engine.Before(before):
		return engine.Sub(before)
	case engine.After(after):
		return engine.Sub(after)
	}
	return 0
}

func apart(drift time.Duration) string {
	how := "ahead of this machine's"
	if drift < 0 {
		how = "behind this machine's"
	}
	return fmt.Sprintf("%s %s", drift.Abs().Round(100*time.Millisecond), how)
}
