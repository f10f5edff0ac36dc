package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/nodeloss"
	"locklab/versions"
)

// Result is what one topology has shown.
type Result struct {
	Topology string
	UpAfter  time.Duration // from the start of the first process to a Swarm of two engines with all images
	Ready    time.Duration // from `docker stack deploy` to the last service with its task, and two ready instances behind nginx
	Bursts   burst.Results // through nginx
	Loss     nodeloss.Loss
	Lost     []string // the services whose tasks were on the engine that was killed
	Replaced []string // those of them that Swarm has started on the other one
}

const (
	url         = "http://10.98.0.11:8000" // nginx on the first engine, which is the manager
	first       = "engine1"
	second      = "engine2"
	readyWithin = 5 * time.Minute // far above what was measured, because the machine may be busy
	users       = nodeloss.Users
)

// deployment is a topology in a running Swarm.
type deployment struct {
	dir, topology string
	result        Result
}

// runInside starts the engines in the namespaces of this process, and runs one topology.
func runInside(ctx context.Context, dir, topology string) (any, error) {
	l := deployment{dir: dir, topology: topology, result: Result{Topology: topology}}
	began := time.Now()
	l.say("starting two engines")
	if _, err := output(ctx, engines, "start", l.swarm(), filepath.Join(filepath.Dir(dir), "images.tar")); err != nil {
		return nil, err
	}
	l.result.UpAfter = time.Since(began)
	for _, step := range []func(context.Context) error{l.deploy, l.spread, l.bursts, l.loss} {
		if err := step(ctx); err != nil {
			tasks, _ := l.docker(context.WithoutCancel(ctx), "stack", "ps", "lab", "--no-trunc")
			return nil, fmt.Errorf("%s\n%w", tasks, err)
		}
	}
	return l.result, nil
}

func (l *deployment) swarm() string { return filepath.Join(l.dir, "swarm") }

func (l *deployment) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", l.topology, fmt.Sprintf(format, args...))
}

// docker runs the client of the first engine.
func (l *deployment) docker(ctx context.Context, args ...string) (string, error) {
	return l.dockerAt(ctx, first, args...)
}

func (l *deployment) dockerAt(ctx context.Context, engine string, args ...string) (string, error) {
	return output(ctx, "docker", append([]string{"--host", "unix://" + filepath.Join(l.swarm(), engine, "docker.sock")}, args...)...)
}

// deploy deploys the stack as README.md says, and waits for every service. With one Redis it adds the backends.
func (l *deployment) deploy(ctx context.Context) error {
	began := time.Now()
	files := []string{"stack.yaml", l.topology + ".yaml"}
	if l.topology == "single" {
		files = append(files, "backends.yaml")
	}
	line := "set -a; . deploy/defaults.env; CLASS=" + strings.TrimPrefix(url, "http://") + " TRAINER_TOKEN=" + rand.Text() +
		"; set +a; docker stack deploy --resolve-image never"
	for _, file := range files {
		line += " -c deploy/swarm/" + file
	}
	l.say("%s lab", line)
	cmd := exec.CommandContext(ctx, "sh", "-c", line+" lab")
	cmd.Env = append(os.Environ(), "DOCKER_HOST=unix://"+filepath.Join(l.swarm(), first, "docker.sock"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s lab: %w: %s", line, err, out)
	}
	if err := l.ready(ctx); err != nil {
		return err
	}
	l.result.Ready = time.Since(began)
	return nil
}

// ready waits until each service has its task. A task that has a health check counts when it is healthy, and nginx is healthy when both
// instances are.
func (l *deployment) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		text, err := l.docker(ctx, "service", "ls", "--format", "{{.Name}} {{.Replicas}}")
		if err != nil {
			return err
		}
		waiting := missing(text)
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s without a task after %s: %w", strings.Join(waiting, ", "), readyWithin, ctx.Err())
		case <-tick.C:
		}
	}
}

// missing are the services that have no task, of lines with a name, the tasks that run and those that are wanted.
func missing(lines string) (services []string) {
	for line := range strings.Lines(lines) {
		if name, replicas, _ := strings.Cut(strings.TrimSpace(line), " "); replicas != "1/1" {
			services = append(services, service(name))
		}
	}
	return services
}

// service is the name of a service in the stack files, of that of a service or task in the Swarm.
func service(name string) string {
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "lab_"), ".")
	return name
}

// at is the engine of each service whose task runs.
func (l *deployment) at(ctx context.Context) (map[string]string, error) {
	text, err := l.docker(ctx, "stack", "ps", "lab", "--filter", "desired-state=running", "--format", "{{.Name}} {{.Node}} {{.CurrentState}}")
	return places(text), err
}

// places reads lines with a task, its node and its state.
func places(lines string) map[string]string {
	at := map[string]string{}
	for line := range strings.Lines(lines) {
		if words := strings.Fields(line); len(words) > 2 && words[2] == "Running" {
			at[service(words[0])] = words[1]
		}
	}
	return at
}

// spread moves the instance app-2 to the second engine. Swarm may have put it on the first one while that had few tasks. nginx looks up
// its new address when it starts.
func (l *deployment) spread(ctx context.Context) error {
	at, err := l.at(ctx)
	if err != nil || at["app-2"] == second {
		return err
	}
	for _, name := range []string{"lab_app-2", "lab_nginx"} {
		l.say("docker service update --force %s", name)
		if _, err := l.docker(ctx, "service", "update", "--force", name); err != nil {
			return err
		}
	}
	if err := l.ready(ctx); err != nil {
		return err
	}
	if at, err = l.at(ctx); err == nil && at["app-2"] != second {
		err = fmt.Errorf("app-2 is on %s, and nothing is shown by the loss of %s", at["app-2"], second)
	}
	return err
}

// bursts sends bursts of each version through nginx.
func (l *deployment) bursts(ctx context.Context) error {
	target := burst.Target{URL: url}
	chosen := versions.DefaultNames()
	if l.topology == "single" {
		h, err := target.Health(ctx)
		if err != nil {
			return err
		}
		chosen = h.Versions
	}
	l.say("bursts of %s through nginx", strings.Join(chosen, ", "))
	plan := burst.Plan{Users: users, Drivers: 20, Rounds: 1, Versions: chosen}
	r, err := plan.Run(ctx, target, burst.App{}, func(burst.Event) {})
	if err != nil {
		return err
	}
	l.result.Bursts = *r
	if r.Verdict != lab.AsExpected {
		return fmt.Errorf("%s: %s", r.Verdict, r.Reasons())
	}
	return nil
}

// loss kills the second engine during bursts of v3, and judges what was left.
func (l *deployment) loss(ctx context.Context) error {
	before, err := l.at(ctx)
	if err != nil {
		return err
	}
	master, err := l.master(ctx, before)
	if err != nil {
		return err
	}
	if l.result.Lost, err = lost(l.topology, before, master); err != nil {
		return err
	}
	l.say("%s is killed, with %s; master of the counter: %q", second, strings.Join(l.result.Lost, ", "), master)
	kill := func(ctx context.Context) error {
		_, err := output(ctx, engines, "kill", strings.TrimPrefix(second, "engine"))
		return err
	}
	l.result.Loss, err = nodeloss.Run(ctx, burst.Target{URL: url}, master, kill, func(after time.Duration) {
		l.say("back after %s; waiting until every request is answered", after)
	})
	if err != nil {
		return err
	}
	after, err := l.at(ctx)
	for _, name := range l.result.Lost {
		if after[name] == first {
			l.result.Replaced = append(l.result.Replaced, name)
		}
	}
	return err
}

// master is the master of the counter if it is on the second engine.
func (l *deployment) master(ctx context.Context, at map[string]string) (string, error) {
	services := slices.DeleteFunc(slices.Sorted(maps.Keys(at)), func(name string) bool { return at[name] != second })
	return nodeloss.Master(services, func(name string) (string, error) {
		container, err := l.dockerAt(ctx, second, "ps", "--quiet", "--filter", "label=com.docker.swarm.service.name=lab_"+name)
		if err != nil {
			return "", err
		}
		return l.dockerAt(ctx, second, "exec", strings.TrimSpace(container), "sh", "-c", nodeloss.Role)
	})
}

// needed are the services that must not be lost, because nothing replaces them. Of the sentinels and of the masters of a cluster,
// two of three are needed to replace a master.
var needed = []string{"app-1", "nginx", "mysql", "sentinel-1", "sentinel-2", "cluster-2", "cluster-3"}

// lost are the services on the second engine, of which one may be the master of the counter. The error says which of them must not be
// there, because nothing replaces it, or which must.
func lost(topology string, at map[string]string, master string) (services []string, err error) {
	for name, engine := range at {
		if engine == second {
			services = append(services, name)
		}
	}
	slices.Sort(services)
	for _, name := range needed {
		if at[name] == second {
			return nil, fmt.Errorf("%s is on %s, which is killed", name, second)
		}
	}
	switch promotes := nodeloss.Promotes(topology); {
	case master != "" && !promotes:
		return nil, fmt.Errorf("the master %s is on %s, which is killed, and nobody promotes a replica", master, second)
	case master == "" && promotes:
		return nil, fmt.Errorf("the master of the counter is not on %s, which is killed: nothing is shown by its loss", second)
	}
	if !slices.Contains(services, "app-2") {
		return nil, fmt.Errorf("%s has no instance: nothing is shown by its loss", second)
	}
	return services, nil
}
