package compose_test

import (
	"slices"
	"testing"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

func TestTheArgumentGoesBeforeTheShellAndTheShellBeforeTheFile(t *testing.T) {
	for _, c := range []struct {
		name, env, argument string
		shell               map[string]string
		topology, port      string
	}{
		{name: "neither is set", topology: "single", port: "7002"},
		{
			name: "the shell before .env", env: "TOPOLOGY=single",
			shell: map[string]string{"TOPOLOGY": "cluster", "WEB_PORT": "7008"}, topology: "cluster", port: "7008",
		},
		{
			name: "empty in the shell is the default, as for docker compose", env: "TOPOLOGY=cluster",
			shell: map[string]string{"TOPOLOGY": ""}, topology: "single", port: "7002",
		},
		{
			name: "the argument before the shell and .env", env: "TOPOLOGY=cluster", argument: "single",
			shell: map[string]string{"TOPOLOGY": "cluster", "WEB_PORT": "7008"}, topology: "single", port: "7008",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := small(t, c.env)
			for name, value := range c.shell {
				t.Setenv(name, value)
			}
			p := load(t, dir, c.argument)
			if p.Topology != c.topology || p.Environment("app-1", "WEB_PORT") != c.port || p.Published("web") != "127.0.0.1:"+c.port {
				t.Errorf("topology %s, WEB_PORT %s, web at %s", p.Topology, p.Environment("app-1", "WEB_PORT"), p.Published("web"))
			}
			node := map[string]string{"single": "redis-single", "cluster": "cluster-1"}[c.topology]
			if _, there := p.Files.Services[node]; !there || len(p.Files.Services) != map[string]int{"single": 6, "cluster": 7}[c.topology] {
				t.Errorf("the services are not those of %s: %v", c.topology, p.Files.Services)
			}
		})
	}
}

func TestATopologyThatIsNotThereIsNamedWithThoseThatAre(t *testing.T) {
	_, err := compose.Load(t.Context(), small(t, ""), "ring")
	wantError(t, err, `"ring"`, "TOPOLOGY", "single, cluster")
	dir := t.TempDir()
	_, err = compose.Load(t.Context(), dir, "")
	wantError(t, err, dir, "checkout", "--dir")
}

func TestPortsAreSortedByNumberAndThoseOfDockersChoiceAreLeftOut(t *testing.T) {
	p := load(t, small(t, ""), "")
	want := []compose.Port{
		{Service: "web", Host: "127.0.0.1", Number: 7002},
		{Service: "db", Host: "127.0.0.1", Number: 7003},
		{Service: "web", Host: "127.0.0.1", Number: 7009},
	}
	if got := p.Ports(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for service, at := range map[string]string{"web": "127.0.0.1:7002", "db": "127.0.0.1:7003", "load": "", "redis-single": "", "none": ""} {
		if got := p.Published(service); got != at {
			t.Errorf("%s is published at %q, want %q", service, got, at)
		}
	}
}

func TestImagesOfAProfileAreNotStarted(t *testing.T) {
	p := load(t, small(t, ""), "cluster")
	for image, want := range map[string]bool{
		"redis:7.0.15": true, "nginx:1.22.1": true, "grafana/k6:1.8.1": false, "etcd:3.4.23": false, "unknown:1": false,
	} {
		if p.Starts(image) != want {
			t.Errorf("up starts %s: %v", image, !want)
		}
	}
}

// REDIS_TOPOLOGY is the older name of TOPOLOGY, which takes precedence.
func TestTheOlderNameOfTheTopology(t *testing.T) {
	for want, settings := range map[string][]string{
		"sentinel": {"REDIS_TOPOLOGY=sentinel"}, "cluster": {"REDIS_TOPOLOGY=single", "TOPOLOGY=cluster"},
	} {
		testenv.WithoutShell(t, lab)
		composefiles.Docker(t)
		p, err := compose.Load(t.Context(), lab, "", settings...)
		if err != nil || p.Topology != want || p.Environment("app-1", "LAB_TOPOLOGY") != want {
			t.Errorf("%v: the topology is %v, %v; want %s", settings, p, err, want)
		}
	}
}
