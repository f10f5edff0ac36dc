// Command faults breaks the containers of docker-compose.yml one by one, in the order of docs/faults.md, and writes there what a user sees.
// It needs Docker and the ports of the lab. Every fault begins with a new lab: after a failover another server is the master.
//
//	faults [SECTION…]       causes the faults of these sections, without one all, and writes their tables
//	faults --check [NAME…]  causes the faults of these names or sections, as in sentinel-kill, and writes nothing
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
	"slices"
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

// fault is a line that a user types, and what is watched meanwhile.
type fault struct {
	section  string // of the page, and a topology or another server
	path     string // of the requests: POST
	line     string
	after    string // a line that ends the fault, if it does not end by itself; then the requests go on
	watch    time.Duration
	expected outcome
}

// outcome is what does not differ from run to run.
type outcome struct {
	line, after string // how the requests end, after each line
	counter     string // what became of the confirmed views
}

const (
	view, redlock, orders = "/v3/pview", "/v4/pview", "/orders"
	short, long           = 15 * time.Second, 20 * time.Second

	succeed, fail, some    = "requests succeed", "requests fail", "some requests succeed"
	kept, lost, unreadable = "kept", "lost", "cannot be read"
)

// faults are in the order of the page.
var faults = []fault{
	{"single", view, "docker kill locklab-redis-single-1", "", short, outcome{fail, "", unreadable}},
	{"single", view, "docker pause locklab-redis-single-1", "docker unpause locklab-redis-single-1", short, outcome{fail, succeed, kept}},
	{"single", view, "docker restart locklab-redis-single-1", "", short, outcome{succeed, "", lost}},
	{"master-slave", view, "docker kill locklab-redis-1-1", "", short, outcome{fail, "", unreadable}},
	{"master-slave", view, "docker pause locklab-redis-1-1", "docker unpause locklab-redis-1-1", short, outcome{fail, succeed, kept}},
	{"master-slave", view, "docker restart locklab-redis-1-1", "", short, outcome{succeed, "", lost}},
	{"sentinel", view, "docker kill locklab-redis-1-1", "", long, outcome{succeed, "", kept}},
	{"sentinel", view, "docker pause locklab-redis-1-1", "docker unpause locklab-redis-1-1", long, outcome{succeed, succeed, kept}},
	{"sentinel", view, "docker restart locklab-redis-1-1", "", long, outcome{succeed, "", lost}},
	{"cluster", view, "docker kill locklab-cluster-1-1", "", long, outcome{succeed, "", kept}},
	{"cluster", view, "docker pause locklab-cluster-1-1", "docker unpause locklab-cluster-1-1", long, outcome{succeed, succeed, kept}},
	{"cluster", view, "docker restart locklab-cluster-1-1", "", long, outcome{succeed, "", lost}},
	{"mysql", orders, "docker kill locklab-mysql-1", "docker start locklab-mysql-1", short, outcome{fail, succeed, ""}},
	{"mysql", orders, "docker pause locklab-mysql-1", "docker unpause locklab-mysql-1", short, outcome{fail, succeed, ""}},
	{"mysql", orders, "docker restart locklab-mysql-1", "", long, outcome{succeed, "", ""}},
	{
		"redlock", redlock, "docker kill locklab-redlock-1-1 locklab-redlock-2-1", "docker kill locklab-redlock-3-1", short,
		outcome{succeed, fail, kept},
	},
	{"redlock", redlock, "docker pause locklab-redlock-1-1", "docker unpause locklab-redlock-1-1", short, outcome{succeed, succeed, kept}},
	{"redlock", redlock, "docker restart locklab-redlock-1-1", "", short, outcome{succeed, "", kept}},
	{"instance", view, "docker kill locklab-app-2-1", "docker start locklab-app-2-1", short, outcome{some, succeed, kept}},
	{"instance", view, "docker pause locklab-app-2-1", "docker unpause locklab-app-2-1", short, outcome{some, succeed, kept}},
	{"instance", view, "docker restart locklab-app-2-1", "", short, outcome{succeed, "", kept}},
}

// name is the section and the verb, as in single-kill.
func (f fault) name() string { return f.section + "-" + strings.Fields(f.line)[1] }

// topology is the one that the section is about; the other sections run over a single Redis.
func (f fault) topology() string {
	if slices.Contains([]string{"mysql", "redlock", "instance"}, f.section) {
		return "single"
	}
	return f.section
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

// run causes the chosen faults, or all, and takes the lab down. Its error names each outcome that was not expected. Unless it only checks,
// it writes the tables of the sections.
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
	var unexpected []error
	sections := map[string][][]string{}
	for i, f := range faults {
		isChosen := func(name string) bool { return name == f.section || check && name == f.name() }
		if len(chosen) > 0 && !slices.ContainsFunc(chosen, isChosen) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s: %s\n", i+1, len(faults), f.topology(), f.line)
		rows, seen, err := f.run(ctx, l)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%q\n", rows)
		if seen != f.expected {
			unexpected = append(unexpected, fmt.Errorf("%s: %+v, and expected was %+v", f.name(), seen, f.expected))
		}
		sections[f.section] = append(sections[f.section], rows...)
	}
	if check {
		return errors.Join(unexpected...)
	}
	for section, rows := range sections {
		columns := []string{"you type", "answers", "longest time without a success", "confirmed views"}
		unexpected = append(unexpected, marked.Update(page, section, marked.Table(4, columns, rows)))
	}
	return errors.Join(unexpected...)
}

// found is the lab that .env names. The page itself is written with the names of the default settings.
func found(ctx context.Context, app string, check bool) (lab, error) {
	project, err := compose.Load(ctx, ".", "")
	if err != nil {
		return lab{}, err
	}
	if !check && project.Files.Name != "locklab" {
		return lab{}, fmt.Errorf("the lab is called %s, and the page is about locklab: use --check, or run this without .env", project.Files.Name)
	}
	return lab{app, "http://" + project.Published("nginx"), project.Files.Name + "-"}, nil
}

// ending is what the last answers have in common. Of two instances behind nginx one may answer and the other not.
func ending(answers []string) string {
	succeeded := func(i int) bool { return strings.HasPrefix(answers[len(answers)-i], "2") }
	switch {
	case len(answers) < 2 || succeeded(1) != succeeded(2):
		return some
	case succeeded(1):
		return succeed
	}
	return fail
}

// run causes the fault on a new lab. rows are those of the page.
func (f fault) run(ctx context.Context, l lab) (rows [][]string, seen outcome, err error) {
	if out, err := shell(ctx, l.app+" down && "+l.app+" up "+f.topology()); err != nil {
		return nil, seen, fmt.Errorf("app up %s: %w: %s", f.topology(), err, out)
	}
	if f.path != orders {
		if err := l.call(ctx, http.MethodPut, "/pview", `{"value": 0}`, nil); err != nil {
			return nil, seen, err
		}
	}
	confirmed := 0
	for _, line := range []struct {
		typed string
		end   *string
	}{{f.line, &seen.line}, {f.after, &seen.after}} {
		if line.typed == "" {
			continue
		}
		w, err := f.watched(ctx, l, line.typed)
		if err != nil {
			return nil, seen, err
		}
		*line.end = ending(w.answers)
		confirmed += w.confirmed
		rows = append(rows, []string{"`" + line.typed + "`", grouped(w.answers), w.gap, ""})
	}
	if f.path == orders {
		return rows, seen, nil
	}
	var counter struct{ Value int }
	text := &rows[len(rows)-1][3]
	switch err := l.call(ctx, http.MethodGet, "/pview", "", &counter); {
	case err != nil:
		seen.counter, *text = unreadable, fmt.Sprintf("%v: cannot be read", err)
	case counter.Value < confirmed:
		seen.counter, *text = lost, fmt.Sprintf("**%d of %d lost**", confirmed-counter.Value, confirmed)
	default:
		seen.counter, *text = kept, fmt.Sprintf("all %d kept", confirmed)
	}
	return rows, seen, nil
}

// watched is what a line has shown.
type watched struct {
	answers   []string // their statuses
	confirmed int
	gap       string // the longest time without a success, if it was longer than a second
}

// watched sends requests, one after another, from a second before the line until f.watch after it.
func (f fault) watched(ctx context.Context, l lab, line string) (w watched, err error) {
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
			w.confirmed, last = w.confirmed+1, time.Now()
		}
		worst = max(worst, time.Since(last))
		w.answers = append(w.answers, status)
		time.Sleep(pause)
	}
	if worst > time.Second {
		w.gap = fmt.Sprintf("%.0f s", worst.Seconds())
	}
	return w, <-done
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
