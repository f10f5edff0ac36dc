// Command faults breaks the containers of docker-compose.yml one by one, in the order of docs/faults.md, and writes there what a user sees.
// It needs Docker and the ports of the lab. Every fault begins with a new lab: after a failover another server is the master.
//
//	faults [NAME…]            runs the blocks whose names begin so, without a name all, and writes them
//	faults --check [NAME…]    runs them, and says where the result differs from that of the page
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab/servers/compose"
)

const (
	page  = "docs/faults.md"
	pause = 500 * time.Millisecond // between two requests
)

// lab is the lab of this checkout. On a shared machine the page's names are those of another lab.
type lab struct{ app, url, containers string }

// fault is a line that a user types, and what is watched meanwhile. Its name is that of the markers in the page.
type fault struct {
	name, topology string
	path           string // of the requests: POST
	line           string
	after          string // a line that ends the fault, if it does not end by itself; then the requests go on
	watch          time.Duration
}

const (
	view, redlock, orders = "/v3/pview", "/v4/pview", "/orders"
	short, long           = 15 * time.Second, 20 * time.Second // a health check that fails is reported after 10 s at most
)

// faults are in the order of the page.
var faults = []fault{
	{"single-kill", "single", view, "docker kill locklab-redis-single-1", "", short},
	{"single-pause", "single", view, "docker pause locklab-redis-single-1", "docker unpause locklab-redis-single-1", short},
	{"single-restart", "single", view, "docker restart locklab-redis-single-1", "", short},
	{"master-slave-kill", "master-slave", view, "docker kill locklab-redis-1-1", "", short},
	{"master-slave-pause", "master-slave", view, "docker pause locklab-redis-1-1", "docker unpause locklab-redis-1-1", short},
	{"master-slave-restart", "master-slave", view, "docker restart locklab-redis-1-1", "", short},
	{"sentinel-kill", "sentinel", view, "docker kill locklab-redis-1-1", "", long},
	{"sentinel-pause", "sentinel", view, "docker pause locklab-redis-1-1", "docker unpause locklab-redis-1-1", long},
	{"sentinel-restart", "sentinel", view, "docker restart locklab-redis-1-1", "", long},
	{"cluster-kill", "cluster", view, "docker kill locklab-cluster-1-1", "", long},
	{"cluster-pause", "cluster", view, "docker pause locklab-cluster-1-1", "docker unpause locklab-cluster-1-1", long},
	{"cluster-restart", "cluster", view, "docker restart locklab-cluster-1-1", "", long},
	{"mysql-kill", "single", orders, "docker kill locklab-mysql-1", "docker start locklab-mysql-1", short},
	{"mysql-pause", "single", orders, "docker pause locklab-mysql-1", "docker unpause locklab-mysql-1", short},
	{"mysql-restart", "single", orders, "docker restart locklab-mysql-1", "", long},
	{"redlock-kill", "single", redlock, "docker kill locklab-redlock-1-1 locklab-redlock-2-1", "docker kill locklab-redlock-3-1", short},
	{"redlock-pause", "single", redlock, "docker pause locklab-redlock-1-1", "docker unpause locklab-redlock-1-1", short},
	{"redlock-restart", "single", redlock, "docker restart locklab-redlock-1-1", "", short},
	{"instance-kill", "single", view, "docker kill locklab-app-2-1", "docker start locklab-app-2-1", short},
	{"instance-pause", "single", view, "docker pause locklab-app-2-1", "docker unpause locklab-app-2-1", short},
	{"instance-restart", "single", view, "docker restart locklab-app-2-1", "", short},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen := os.Args[1:]
	check := len(chosen) > 0 && chosen[0] == "--check"
	if check {
		chosen = chosen[1:]
	}
	if err := run(ctx, check, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// run runs the blocks whose names begin with one of chosen, without any all blocks, and takes the lab down.
func run(ctx context.Context, check bool, chosen []string) error {
	dir, err := os.MkdirTemp("", "locklab-faults-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	app := filepath.Join(dir, "app")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", app, "./cmd/app").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	l, err := found(ctx, app, check)
	if err != nil {
		return err
	}
	defer func() { _, _ = shell(context.WithoutCancel(ctx), app+" down") }()
	var differ []error
	for i, f := range faults {
		if len(chosen) > 0 && !slices.ContainsFunc(chosen, func(name string) bool { return strings.HasPrefix(f.name, name) }) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s: %s\n", i+1, len(faults), f.topology, f.line)
		block, err := f.run(ctx, l)
		if err != nil {
			return err
		}
		if !check {
			if err := marked.Update(page, f.name, block); err != nil {
				return err
			}
			continue
		}
		shown, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if before := blockOf(string(shown), f.name); conclusion(before) != conclusion(block) {
			differ = append(differ, fmt.Errorf("%s: the page says: %s\n%s\nand now: %s\n%s", f.name, conclusion(before), before,
				conclusion(block), block))
		}
	}
	return errors.Join(differ...)
}

// found is the lab that .env names. `app status` shows what a health check has noticed, so that must not take longer than on the page. The
// page itself is written with the names of the default settings.
func found(ctx context.Context, app string, check bool) (lab, error) {
	if err := os.Setenv("CHECK_EVERY", "5s"); err != nil {
		return lab{}, err
	}
	project, err := compose.Load(ctx, ".", "")
	if err != nil {
		return lab{}, err
	}
	if !check && project.Files.Name != "locklab" {
		return lab{}, fmt.Errorf("the lab is called %s, and the page is about locklab: use --check, or run this without .env", project.Files.Name)
	}
	return lab{app, "http://" + project.Published("nginx"), project.Files.Name + "-"}, nil
}

// fresh is the first line of each block.
func (f fault) fresh() string { return "app down && app up " + f.topology }

// blockOf is what stands between the markers of a page.
func blockOf(text, name string) string {
	_, text, _ = strings.Cut(text, "<!-- "+name+": written by make faults -->\n")
	text, _, _ = strings.Cut(text, "<!-- /"+name+" -->")
	return text
}

var group = regexp.MustCompile(`(\d{3}) ×(\d+)`)

// ending is what the last requests have in common. Of two instances behind nginx one may answer and the other not.
func ending(groups [][]string) string {
	succeed := func(status string) bool { return strings.HasPrefix(status, "2") }
	same, last := 0, succeed(groups[len(groups)-1][1])
	for _, g := range slices.Backward(groups) {
		if succeed(g[1]) != last {
			break
		}
		n, _ := strconv.Atoi(g[2])
		same += n
	}
	switch {
	case same == 1:
		return "some requests succeed"
	case last:
		return "requests succeed"
	}
	return "requests fail"
}

// conclusion is the result of a block, without the numbers that differ from run to run. It says whether requests succeed at the end of
// each line, and whether confirmed views were lost.
func conclusion(block string) string {
	var all []string
	for line := range strings.Lines(block) {
		switch {
		case strings.HasPrefix(line, "POST "):
			all = append(all, ending(group.FindAllStringSubmatch(line, -1)))
		case strings.HasPrefix(line, "GET /pview: the counter is "):
			var counter, confirmed int
			_, _ = fmt.Sscanf(line, "GET /pview: the counter is %d; %d views", &counter, &confirmed)
			all = append(all, fmt.Sprintf("views were lost: %v", counter < confirmed))
		case strings.HasPrefix(line, "GET /pview: "):
			all = append(all, "the counter cannot be read")
		}
	}
	return strings.Join(all, "; ")
}

// run causes the fault, and returns what a user sees.
func (f fault) run(ctx context.Context, l lab) (string, error) {
	if out, err := shell(ctx, strings.ReplaceAll(f.fresh(), "app ", l.app+" ")); err != nil {
		return "", fmt.Errorf("%s: %w: %s", f.fresh(), err, out)
	}
	if f.path != orders {
		if err := l.call(ctx, http.MethodPut, "/pview", `{"value": 0}`, nil); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n", f.fresh())
	confirmed := 0
	for i, line := range []string{f.line, f.after} {
		if line == "" {
			continue
		}
		seen, ok, err := f.watched(ctx, l, line)
		if err != nil {
			return "", err
		}
		confirmed += ok
		fmt.Fprintf(&b, "$ %s\nPOST %s: %s\n", line, f.path, seen)
		if i == 0 {
			status, _ := shell(ctx, l.app+" status")
			status, _, _ = strings.Cut(status, "\n  nginx        http") // where everything listens
			fmt.Fprintf(&b, "$ app status\n%s", cut(strings.ReplaceAll(status, "go run ./cmd/app", "app")))
		}
	}
	var counter struct{ Value int }
	if f.path == orders {
		return "```text\n" + b.String() + "```\n", nil
	}
	if err := l.call(ctx, http.MethodGet, "/pview", "", &counter); err != nil {
		fmt.Fprintf(&b, "GET /pview: %s\n", err)
	} else {
		fmt.Fprintf(&b, "GET /pview: the counter is %d; %d views were confirmed with 200\n", counter.Value, confirmed)
	}
	return "```text\n" + b.String() + "```\n", nil
}

const widest = 140 // characters of a line of the page

// cut ends each line that is too long with "…".
func cut(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		if letters := []rune(line); len(letters) > widest {
			line = string(letters[:widest-1]) + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// watched sends requests, one after another, from a second before the line until f.watch after it. seen are their statuses.
func (f fault) watched(ctx context.Context, l lab, line string) (seen string, confirmed int, err error) {
	var all []string
	done := make(chan error, 1)
	began := time.Now()
	go func() {
		time.Sleep(time.Second)
		out, err := shell(ctx, strings.ReplaceAll(line, "locklab-", l.containers))
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", line, err, out)
		}
		done <- err
	}()
	worst, last := time.Duration(0), began
	for time.Since(began) < f.watch && ctx.Err() == nil {
		status := f.request(ctx, l)
		if status == "200" || status == "201" {
			confirmed, last = confirmed+1, time.Now()
		}
		worst = max(worst, time.Since(last))
		all = append(all, status)
		time.Sleep(pause)
	}
	if worst > time.Second {
		seen = fmt.Sprintf("; longest time without a success: %.0f s", worst.Seconds())
	}
	return grouped(all) + seen, confirmed, <-done
}

// request returns the status of one request, 000 without an answer in 5 s, as curl -m 5 has it.
func (f fault) request(ctx context.Context, l lab) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+f.path, nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "000"
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return fmt.Sprint(answer.StatusCode)
}

// grouped writes equal neighbours once, with their number.
func grouped(all []string) string {
	var parts []string
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n] == all[i] {
			n++
		}
		parts = append(parts, fmt.Sprintf("%s ×%d", all[i], n))
		i += n
	}
	return strings.Join(parts, ", ")
}

func (l lab) call(ctx context.Context, method, path, body string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, l.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d", response.StatusCode)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	return err
}

func shell(ctx context.Context, line string) (string, error) {
	out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput()
	return string(out), err
}
