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

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
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

// What the instances were told counts, and not what the settings say now: neither the topology nor the backends.
func TestTheLabThatRunsIsFound(t *testing.T) {
	for _, c := range []struct {
		services   []string
		told, want string // topology, backends, instances; and whether Prometheus runs
	}{
		{[]string{"app-1", "redis-1"}, "sentinel 0 2", "sentinel 0 2 0"},
		{[]string{"app-2", "prometheus"}, "cluster 1 12", "cluster 1 12 1"},
		{[]string{"redis-1", "nginx"}, "", "master-slave 0 2 0"}, // no instance: the settings
		{nil, "", ""},
	} {
		for form, text := range forms {
			testenv.WithoutShell(t, lab)
			t.Setenv("TOPOLOGY", "master-slave")
			told := strings.Fields(c.told)
			for len(told) < 3 {
				told = append(told, "")
			}
			fakeDocker(t, fmt.Sprintf(`case "$*" in
"inspect "*) echo '{"Config":{"Env":["LAB_TOPOLOGY=%s","LAB_BACKENDS=%s","LAB_NODES=%s"]}}';;
*) echo %s;;
esac`, told[0], told[1], told[2], quote(text(healthy(c.services...)))))
			p, err := compose.Running(t.Context(), lab)
			got := ""
			if p != nil {
				etcd, twelfth, prometheus := p.Files.Services["etcd"], p.Files.Services["app-12"], p.Files.Services["prometheus"]
				got = fmt.Sprint(p.Topology, " ", etcd.GetScale(), " ", 2+10*twelfth.GetScale(), " ", prometheus.GetScale())
			}
			if err != nil || got != c.want {
				t.Errorf("of %v, told %q, as %s: %q, %v; want %q", c.services, c.told, form, got, err, c.want)
			}
		}
	}
}

// A container of another topology is none of the lab's services, and no container that docker compose run has made.
func TestLeftoversAreNamed(t *testing.T) {
	testenv.WithoutShell(t, lab)
	fakeDocker(t, "echo "+quote(forms["lines"](healthy("app-1", "redis-single", "cluster-2", "app-7", "etcd"))))
	got, err := compose.Docker{Project: load(t, lab, "single")}.Leftovers(t.Context())
	if want := []string{"app-7", "cluster-2", "etcd"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
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
		`"inspect "*) echo '{"State":{"Health":{"Log":[{"Output":"old"},{"Output":"curl: (22)  502  Bad Gateway "}]}}}'`,
		"curl: (22) 502 Bad Gateway",
	},
	{
		"starting, checked before", "running", "starting", 0,
		`"inspect --format {{json .}} small-web-1") echo '{"State":{"Health":{"Log":[{"Output":"refused"}]}}}'`, "refused",
	},
	{"starting", "running", "starting", 0, `"inspect "*) echo '{"State":{"Health":null}}'`, "its first health check is still to come"},
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
		`"inspect --format {{json .}} small-web-1") echo '{"State":{"Error":"driver failed: 0.0.0.0:80: bind: address already in use"}}'`,
		"Docker could not start it: driver failed: 0.0.0.0:80: bind: address already in use",
	},
	{
		"out of memory", "exited", "", 137, `"inspect "*) echo '{"State":{"OOMKilled":true}}'`,
		"it was killed because its memory limit was reached (out of memory)",
	},
	{
		"its program is missing", "exited", "", 127,
		`"inspect "*) echo '{"State":{"Error":"exec: \"sh\": not found"}}'; exit 0;; "logs "*) echo`,
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
		_, running := compose.Running(t.Context(), dir)
		for i, err := range []error{status, running} {
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
	oneOff, _ := json.Marshal(map[string]string{
		"Service": "redis-single", "State": "exited", "Labels": "com.docker.compose.oneoff=True,com.docker.compose.project=small",
	})
	fakeDocker(t, "echo "+quote(forms["lines"](healthy("redis-single"))+string(oneOff)))
	lines, err := compose.Docker{Project: load(t, lab, "single")}.Diagnosis(t.Context())
	if err != nil || slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "redis-single ") }) {
		t.Errorf("a one-off container ended, and the service is not ready: %q, %v", lines, err)
	}
}
