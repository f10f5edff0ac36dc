//go:build unix

package compose_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
	"locklab/stack/compose"
)

// container is what docker compose ps says of one.
type container struct {
	Name, Service, State, Health string
	ExitCode                     int
}

// forms are how versions of docker compose print a list.
var forms = map[string]func([]container) string{
	"array": func(all []container) string {
		text, _ := json.Marshal(all)
		return string(text)
	},
	"lines": func(all []container) string {
		var b strings.Builder
		for _, c := range all {
			text, _ := json.Marshal(c)
			b.Write(append(text, '\n'))
		}
		return b.String()
	},
}

// healthy are the containers of services without a problem.
func healthy(services ...string) []container {
	all := []container{}
	for _, name := range services {
		all = append(all, container{Name: "small-" + name + "-1", Service: name, State: "running", Health: "healthy"})
	}
	return all
}

// starts are the services that up starts.
func starts(p *compose.Project) []string {
	var all []string
	for name, service := range p.Files.Services {
		if compose.Starts(service) {
			all = append(all, name)
		}
	}
	return all
}

func TestTheTopologyThatRunsIsFound(t *testing.T) {
	testenv.Slow(t)
	testenv.WithoutShell(t, lab)
	t.Setenv("REDIS_TOPOLOGY", "sentinel") // what is asked for is not what runs
	for _, topology := range []string{"single", "master-slave", "sentinel", "cluster"} {
		whole := starts(load(t, lab, topology))
		wantRunning(t, "array", whole, topology)
		wantRunning(t, "lines", whole, topology)
		wantRunning(t, "lines", append(whole, "k6"), topology)
	}
	for form := range forms {
		wantRunning(t, form, nil, "")
	}
	cluster := starts(load(t, lab, "cluster"))
	for _, c := range []struct {
		services []string
		want     string
	}{
		{[]string{"redis-1", "sentinel-1"}, "sentinel"}, // all else is gone
		{append([]string{"redis-single"}, cluster...), "cluster"},
		{append([]string{"redis-1", "redis-2", "redis-3", "redis-4"}, cluster...), "cluster"}, // which another left
		{[]string{"unknown"}, ""},
	} {
		wantRunning(t, "lines", c.services, c.want)
	}
}

// In another terminal BACKENDS is not set. Running containers count all the same: status looks at them.
func TestTheBackendsThatRunAreFound(t *testing.T) {
	dir := small(t, "")
	for _, c := range []struct {
		services []string
		want     bool
	}{{[]string{"web", "redis-single"}, false}, {[]string{"web", "redis-single", "more"}, true}} {
		fakeDocker(t, "echo "+quote(forms["lines"](healthy(c.services...))))
		p, err := compose.Running(t.Context(), dir)
		if err != nil || slices.Contains(starts(p), "more") != c.want {
			t.Errorf("of %v: up starts %v, %v", c.services, starts(p), err)
		}
	}
}

// wantRunning compares the topology that is found when these services have containers.
func wantRunning(t *testing.T, form string, services []string, want string) {
	t.Helper()
	calls := fakeDocker(t, "echo "+quote(forms[form](healthy(services...))))
	p, err := compose.Running(t.Context(), lab)
	got := ""
	if p != nil {
		got = p.Topology
	}
	if err != nil || got != want {
		t.Errorf("of %v, as %s: %q, %v; want %q", services, form, got, err, want)
	}
	for _, call := range called(t, calls) {
		if !strings.HasSuffix(call, "compose ps --all --format json") {
			t.Errorf("docker was called as %q: a container that ended counts, and nothing else is asked", call)
		}
	}
}

// containerStates are the states of a container, what docker answers then (a case of a shell script), and the reason that Status gives.
var containerStates = []struct {
	name, state, health string
	exit                int
	answer, reason      string
}{
	{"healthy", "running", "healthy", 0, "", ""},
	{"running, without a health check", "running", "", 0, "", ""},
	{
		"unhealthy", "running", "unhealthy", 0,
		`"inspect "*) printf '[{"Output":"old"},{"Output":"curl: (22)\\n  502  Bad Gateway\\n"}]'`, "curl: (22) 502 Bad Gateway",
	},
	{
		"starting, checked before", "running", "starting", 0,
		`"inspect --format {{json .State.Health.Log}} small-web-1") echo '[{"Output":"refused"}]'`, "refused",
	},
	{"starting", "running", "starting", 0, `"inspect "*) echo null`, "its first health check is still to come"},
	{"gone meanwhile", "running", "starting", 0, `"inspect "*) echo 'No such object' >&2; exit 1`, "its first health check is still to come"},
	{"stopped", "exited", "", 0, "", "it was stopped"},
	{"paused", "paused", "healthy", 0, "", "docker compose unpause web lets it go on"},
	{
		"ended, with a log", "exited", "", 1,
		`"logs --tail 1 small-web-1") echo 'app: refused' >&2`, "it ended with status 1. Its last line: app: refused",
	},
	{"killed, without a log", "exited", "", 137, `"logs "*) echo`, "it ended with status 137. It logged nothing."},
	{
		"ended, and its log cannot be read", "exited", "", 2,
		`"logs "*) echo 'unsupported driver'; exit 1`, "it ended with status 2. It logged nothing.",
	},
	{"created", "created", "", 0, "", "it waits for another service"},
	{
		"its port is taken", "created", "", 128,
		`"inspect --format {{.State.Error}} small-web-1") echo 'driver failed: 0.0.0.0:80: bind: address already in use'`,
		"Docker could not start it: driver failed: 0.0.0.0:80: bind: address already in use",
	},
	{
		"its program is missing", "exited", "", 127,
		`"inspect --format {{.State.Error}} small-web-1") echo 'exec: "sh": not found'; exit 0;; "logs "*) echo`,
		`Docker could not start it: exec: "sh": not found`,
	},
}

func TestAServiceThatIsNotReadySaysWhy(t *testing.T) {
	for _, c := range containerStates {
		t.Run(c.name, func(t *testing.T) {
			p := load(t, small(t, ""), "")
			ps := forms["lines"](append(healthy("db", "redis-single"), container{"small-web-1", "web", c.state, c.health, c.exit}))
			if c.answer == "" {
				c.answer = "'') "
			}
			fakeDocker(t, fmt.Sprintf("case \"$*\" in\n\"compose ps --all --format json\") echo %s;;\n%s;;\n*) exit 9;;\nesac", quote(ps), c.answer))
			all, err := compose.Docker{Project: p}.Status(t.Context())
			if err != nil || len(all) != 3 {
				t.Fatal(all, err)
			}
			got := all[slices.IndexFunc(all, func(s compose.State) bool { return s.Service == "web" })]
			if want := (compose.State{Service: "web", State: c.state, Health: c.health, Reason: c.reason}); got != want {
				t.Errorf("%+v\nwant %+v", got, want)
			}
			if got.Ready() != (c.reason == "") {
				t.Errorf("%+v is ready: %v", got, got.Ready())
			}
		})
	}
}

func TestWhatIsNotReadyComesFirstAndOtherServicesAreLeftOut(t *testing.T) {
	p := load(t, small(t, ""), "cluster")
	containers := append(healthy("web", "cluster-1", "redis-single", "load"), container{Name: "small-db-1", Service: "db", State: "exited"})
	for form, text := range forms {
		t.Run(form, func(t *testing.T) {
			fakeDocker(t, "echo "+quote(text(containers)))
			all, err := compose.Docker{Project: p}.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := []compose.State{
				{Service: "cluster-2", State: "missing", Reason: "it has no container"},
				{Service: "db", State: "exited", Reason: "it was stopped"},
				{Service: "cluster-1", State: "running", Health: "healthy"},
				{Service: "web", State: "running", Health: "healthy"},
			}
			if !slices.Equal(all, want) {
				t.Errorf("%+v\nwant %+v", all, want)
			}
			lines, err := compose.Docker{Project: p}.Diagnosis(t.Context())
			if err != nil || !slices.Equal(lines, []string{"cluster-2 is missing: it has no container", "db is exited: it was stopped"}) {
				t.Errorf("%q, %v", lines, err)
			}
		})
	}
}

// Two checkouts with one project name would take the containers from each other.
func TestContainersOfAnotherCheckoutAreLeftAlone(t *testing.T) {
	dir, other := small(t, ""), t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	unseen := filepath.Join(link, "docker-compose.yml", "folder") // an error of another kind, as for a folder of another user
	for madeIn, refused := range map[string]bool{dir: false, link: false, filepath.Join(other, "gone"): false, other: true, unseen: true} {
		line, _ := json.Marshal(map[string]string{
			"Service": "web", "State": "running", "Labels": "a=b,com.docker.compose.project.working_dir=" + madeIn + ",c=d",
		})
		fakeDocker(t, "echo "+quote(string(line)))
		docker := compose.Docker{Project: load(t, dir, "")}
		_, status := docker.Status(t.Context())
		_, died := docker.RedisDied(t.Context())
		_, running := compose.Running(t.Context(), dir)
		for i, err := range []error{status, died, running} {
			if refused {
				wantError(t, err, "project small", madeIn, "project name, ports and a network", ".env", "deploy/participant")
			} else if err != nil {
				t.Errorf("%d: made in %s: %v", i, madeIn, err)
			}
		}
	}
}

// A container of docker compose run is no service, although it has a service's name.
func TestOneOffContainersDoNotCount(t *testing.T) {
	testenv.WithoutShell(t, lab)
	ps := healthy("redis-single")
	oneOff, _ := json.Marshal(map[string]string{
		"Service": "redis-single", "State": "exited", "Labels": "com.docker.compose.oneoff=True,com.docker.compose.project=small",
	})
	fakeDocker(t, "echo "+quote(forms["lines"](ps)+string(oneOff)))
	docker := compose.Docker{Project: load(t, lab, "single")}
	if dead, err := docker.RedisDied(t.Context()); dead || err != nil {
		t.Errorf("a one-off container ended, and Redis is dead: %v, %v", dead, err)
	}
}

func TestADeadRedisServerIsNoticed(t *testing.T) {
	testenv.WithoutShell(t, lab)
	for name, c := range map[string]struct {
		container
		want bool
	}{
		"a node":                     {container{Service: "cluster-2", State: "exited", ExitCode: 137}, true},
		"another server":             {container{Service: "nginx", State: "exited"}, false},
		"a node of another topology": {container{Service: "redis-1", State: "exited"}, false},
		"a paused node":              {container{Service: "cluster-2", State: "paused"}, false},
		"an unhealthy node":          {container{Service: "cluster-2", State: "running", Health: "unhealthy"}, false},
		"no topology":                {container{Service: "redis-ready", State: "running", Health: "unhealthy"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			fakeDocker(t, "echo "+quote(forms["lines"](append(healthy("cluster-1"), c.container))))
			dead, err := compose.Docker{Project: load(t, lab, "cluster")}.RedisDied(t.Context())
			if dead != c.want || err != nil {
				t.Errorf("dead is %v, %v", dead, err)
			}
		})
	}
}
