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
	Name, Service, State, Health, Labels string
	ExitCode                             int
}

// lines are what docker compose ps prints.
func lines(all ...container) string {
	var b strings.Builder
	for _, c := range all {
		text, _ := json.Marshal(c)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// healthy are the containers of services without a problem.
func healthy(services ...string) (all []container) {
	for _, name := range services {
		all = append(all, container{Name: "small-" + name + "-1", Service: name, State: "running", Health: "healthy"})
	}
	return all
}

// What the instances were told counts, and not what the settings say now: neither the topology nor the backends.
func TestTheLabThatRunsIsFound(t *testing.T) {
	for _, c := range []struct {
		services   []string
		told, want string // topology, backends, instances; then the topology, and whether etcd, app-12 and Prometheus run
	}{
		{[]string{"app-2", "prometheus"}, "cluster 1 12", "cluster true true true"},
		{[]string{"redis-1", "nginx"}, "- - -", "master-slave false false false"}, // no instance: the settings
		{nil, "- - -", ""},
	} {
		testenv.WithoutShell(t, lab)
		t.Setenv("TOPOLOGY", "master-slave")
		told := strings.Fields(c.told)
		fakeDocker(t, fmt.Sprintf(`case "$*" in
"inspect "*"-app-"*) echo '{"Config":{"Env":["LAB_TOPOLOGY=%s","LAB_BACKENDS=%s","LAB_NODES=%s"]}}';;
"compose ps "*) echo %s;;
*) exit 1;;
esac`, told[0], told[1], told[2], quote(lines(healthy(c.services...)...))))
		p, err := compose.Running(t.Context(), lab)
		got := ""
		if p != nil {
			etcd, twelfth, prometheus := p.Files.Services["etcd"], p.Files.Services["app-12"], p.Files.Services["prometheus"]
			got = fmt.Sprint(p.Topology, " ", etcd.Starts(), " ", twelfth.Starts(), " ", prometheus.Starts())
		}
		if err != nil || got != c.want {
			t.Errorf("of %v, told %q: %q, %v; want %q", c.services, c.told, got, err, c.want)
		}
	}
}

func TestAServiceThatIsNotReadySaysWhy(t *testing.T) {
	for _, c := range []struct {
		state, health     string
		inspect, log, why string // what docker answers, and the line of the diagnosis; empty: it is ready
	}{
		{"running", "healthy", "", "", ""},
		{"running", "", "", "", ""}, // it has no health check
		{
			"running", "unhealthy", `{"State":{"Health":{"Log":[{"Output":"old"},{"Output":"curl: (22)  502  Bad Gateway "}]}}}`, "",
			"web is unhealthy: curl: (22) 502 Bad Gateway",
		},
		{"running", "starting", `{"State":{"Health":null}}`, "", "web is starting: its first health check is still to come"},
		{"paused", "healthy", "", "", "web is paused: docker compose unpause web lets it go on"},
		{"exited", "", "", "app: refused", "web is exited: it ended with status 3. Its last line: app: refused"},
		{"exited", "", "", "", "web is exited: it ended with status 3. It logged nothing."},
		{"created", "", "", "", "web is created: it waits for another service"},
		{
			"created", "", `{"State":{"Error":"driver failed: 0.0.0.0:80: bind: address already in use"}}`, "",
			"web is created: Docker could not start it: driver failed: 0.0.0.0:80: bind: address already in use",
		},
		{
			"exited", "", `{"State":{"OOMKilled":true}}`, "",
			"web is exited: it was killed because its memory limit was reached (out of memory)",
		},
	} {
		project := load(t, small(t, ""), "")
		// A container of docker compose run is no service, although it has a service's name; neither are those of another topology.
		web := container{Name: "small-web-1", Service: "web", State: c.state, Health: c.health, ExitCode: 3}
		ps := append(healthy("redis-single", "cluster-1", "load"), web,
			container{Service: "redis-single", State: "exited", Labels: "com.docker.compose.oneoff=True,com.docker.compose.project=small"})
		fakeDocker(t, fmt.Sprintf(`case "$*" in
"compose ps --all --format json") echo %s;;
"inspect --format {{json .}} small-web-1") echo %s;;
"logs --tail 1 small-web-1") echo %s >&2;;
*) exit 9;;
esac`, quote(lines(ps...)), quote(c.inspect), quote(c.log)))
		want := []string{"db is missing: it has no container"}
		if c.why != "" {
			want = append(want, c.why)
		}
		got, err := compose.Docker{Project: project}.Diagnosis(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
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
		labels := "a=b,com.docker.compose.project.working_dir=" + madeIn + ",c=d"
		fakeDocker(t, "echo "+quote(lines(container{Service: "web", State: "running", Labels: labels})))
		_, err := compose.Running(t.Context(), dir)
		if refused {
			wantError(t, err, "project small", madeIn, "deploy/participant")
		} else if err != nil {
			t.Errorf("made in %s: %v", madeIn, err)
		}
	}
}
