// Command twelve starts the lab with twelve instances, loads them with k6, and writes what the supplier has seen into
// docs/ratelimit.md. It needs Docker and the ports of the lab, and takes what is up down.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"locklab/internal/marked"
)

const (
	page     = "docs/ratelimit.md"
	rate     = 200 // requests a second, of all users: six times what the supplier allows
	duration = 70 * time.Second
	down     = "docker compose down"
)

// algorithms are those whose result differs: none, a counter in each instance, A0's listing, three counters in Redis, a part of the limit
// for each instance, and A0's listing with >=.
var algorithms = []string{"r0", "r1", "r2", "r3", "r4", "r6", "r7", "r9"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "twelve:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	up := down + "; APP_INSTANCES=12 docker compose up -d --wait"
	defer func() { _, _ = shell(context.WithoutCancel(ctx), down) }()
	if out, err := shell(ctx, up); err != nil {
		return fmt.Errorf("%s: %w: %s", up, err, out)
	}
	var b strings.Builder
	fmt.Fprint(&b, "| path | requests | calls made | refused | most calls in one window | over the limit | time of a call: median, p99 |\n"+
		"|---|--:|--:|--:|--:|--:|--:|\n")
	for _, algorithm := range algorithms {
		fmt.Fprintln(os.Stderr, algorithm)
		line := fmt.Sprintf("docker compose run --rm k6 run -e ALGORITHM=%s -e OPERATION=rates -e RATE=%d -e DURATION=%.0fs %s",
			algorithm, rate, duration.Seconds(), "/scripts/ratelimit.js")
		out, err := shell(ctx, line)
		if ended := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &ended) || ended.ExitCode() != thresholdsFailed) {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
		row, err := rowOf(algorithm, out)
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
		b.WriteString(row)
	}
	commit, err := shell(ctx, "git describe --always --dirty")
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nMeasured by `make twelve` on %s, tree `%s`: %d requests a second for %.0f s.\n",
		time.Now().UTC().Format("2006-01-02"), strings.TrimSpace(commit), rate, duration.Seconds())
	return marked.Update(page, "twelve", b.String())
}

const thresholdsFailed = 99 // k6's exit code: the supplier has seen too many calls

var (
	seen    = regexp.MustCompile(`It has seen (\d+) calls, at most (\d+) in one window: (\d+) over`)
	counter = regexp.MustCompile(`(?m)^\s*(lab_allowed|lab_refused|lab_failed)\.+: (\d+)`)
	times   = regexp.MustCompile(`(?m)^\s*lab_time\.+: .*med=(\S+)\s+p\(99\)=(\S+)`)
)

// rowOf is the row of the table, from what k6 has printed.
func rowOf(algorithm, printed string) (string, error) {
	log, took := seen.FindStringSubmatch(printed), times.FindStringSubmatch(printed)
	counts := map[string]int{}
	for _, found := range counter.FindAllStringSubmatch(printed, -1) {
		n := 0
		if _, err := fmt.Sscan(found[2], &n); err != nil {
			return "", err
		}
		counts[found[1]] = n
	}
	if log == nil || took == nil {
		return "", errors.New("k6 does not say what the supplier has seen")
	}
	if failed := counts["lab_failed"]; failed > 0 {
		return "", fmt.Errorf("%d requests failed", failed)
	}
	made, refused := counts["lab_allowed"], counts["lab_refused"]
	if log[1] != fmt.Sprint(made) {
		return "", fmt.Errorf("the supplier has seen %s calls, and k6 counts %d", log[1], made)
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %s | %s, %s |\n",
		algorithm, made+refused, made, refused, log[2], log[3], took[1], took[2]), nil
}

func shell(ctx context.Context, line string) (string, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
	return string(out), err
}
