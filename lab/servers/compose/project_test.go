package compose_test

import (
	"os"
	"slices"
	"testing"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
)

func TestTheArgumentGoesBeforeTheShellAndTheShellBeforeTheFile(t *testing.T) {
	for _, c := range []struct {
		name, env, argument string
		shell               map[string]string
		topology, port      string
	}{
		{name: "neither is set", topology: "single", port: "7002"},
		{name: ".env", env: "TOPOLOGY=cluster", topology: "cluster", port: "7002"},
		{
			name: "the shell before .env", env: "TOPOLOGY=single",
			shell: map[string]string{"TOPOLOGY": "cluster", "WEB_PORT": "7008"}, topology: "cluster", port: "7008",
		},
		{
			name: "empty in the shell is the default, as for docker compose", env: "TOPOLOGY=cluster",
			shell: map[string]string{"TOPOLOGY": ""}, topology: "single", port: "7002",
		},
		{name: "the argument before .env", env: "TOPOLOGY=single", argument: "cluster", topology: "cluster", port: "7002"},
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
			if p.Topology != c.topology || p.Variable("WEB_PORT") != c.port || p.Published("web") != "127.0.0.1:"+c.port {
				t.Errorf("topology %s, WEB_PORT %s, web at %s", p.Topology, p.Variable("WEB_PORT"), p.Published("web"))
			}
			node := map[string]string{"single": "redis-single", "cluster": "cluster-1"}[c.topology]
			if _, there := p.Files.Services[node]; !there || len(p.Files.Services) != map[string]int{"single": 5, "cluster": 6}[c.topology] {
				t.Errorf("the services are not those of %s: %v", c.topology, p.Files.ServiceNames())
			}
		})
	}
}

func TestATopologyThatIsNotThereIsNamedWithThoseThatAre(t *testing.T) {
	for name, say := range map[string]func(*testing.T) (dir, argument string){
		"argument": func(t *testing.T) (string, string) { return small(t, ""), "ring" },
		"shell": func(t *testing.T) (string, string) {
			dir := small(t, "TOPOLOGY=single")
			t.Setenv("TOPOLOGY", "ring")
			return dir, ""
		},
		".env": func(t *testing.T) (string, string) { return small(t, "TOPOLOGY=ring"), "" },
	} {
		t.Run(name, func(t *testing.T) {
			dir, argument := say(t)
			_, err := compose.Load(t.Context(), dir, argument)
			wantError(t, err, `"ring"`, "TOPOLOGY", "single, cluster")
		})
	}
}

func TestADirectoryThatIsNoCheckoutIsSaid(t *testing.T) {
	dir := t.TempDir()
	_, err := compose.Load(t.Context(), dir, "")
	wantError(t, err, dir, "checkout", "--dir")
	_, err = compose.Topologies(dir)
	wantError(t, err, dir, "checkout")
	_, err = compose.Running(t.Context(), dir)
	wantError(t, err, dir, "checkout")
	broken := small(t, "")
	if err := os.WriteFile(broken+"/docker-compose.yml", []byte("services: ["), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = compose.Load(t.Context(), broken, "")
	wantError(t, err, "compose: ")
}

func TestTopologiesAreInTheOrderOfTheWorkshop(t *testing.T) {
	all, err := compose.Topologies(lab)
	if want := []string{"single", "master-slave", "sentinel", "cluster"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v; want %v", all, err, want)
	}
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

func TestAPortIsMovedByItsOwnVariableOrElseByThatOfItsGroup(t *testing.T) {
	testenv.WithoutShell(t, lab)
	p := load(t, lab, "")
	for port, want := range map[int]string{
		8000: "NGINX_PORT", 8080: "APP_1_PORT", 8090: "APP_2_PORT", 13306: "MYSQL_PORT",
		6390: "REDIS_SINGLE_PORT", // which is in REDLOCK_PORTS' group, too
		6391: "REDLOCK_PORTS", 6395: "REDLOCK_PORTS", 6404: "REDIS_PORTS", 26401: "SENTINEL_PORTS", 7106: "CLUSTER_PORTS",
		4711: "", 639: "", 63901: "", 1: "",
	} {
		for range 20 { // the variables are in a map, whose order differs
			if got := p.PortVariable(port); got != want {
				t.Errorf("%d is moved by %q, want %q", port, got, want)
				break
			}
		}
	}
}

// A foreign variable with PORT in its name moves no port of ours.
func TestOnlyVariablesOfTheFilesMoveAPort(t *testing.T) {
	testenv.WithoutShell(t, lab)
	for i := range 8 {
		t.Setenv("SOMEBODYS_"+string(rune('A'+i))+"_PORT", "8000")
		t.Setenv("SOMEBODYS_"+string(rune('A'+i))+"_PORTS", "639")
	}
	p := load(t, lab, "")
	for port, want := range map[int]string{8000: "NGINX_PORT", 6391: "REDLOCK_PORTS", 6390: "REDIS_SINGLE_PORT"} {
		if got := p.PortVariable(port); got != want {
			t.Errorf("%d is moved by %q, want %q", port, got, want)
		}
	}
	t.Setenv("NGINX_PORT", "8001")
	if got := load(t, lab, "").PortVariable(8001); got != "NGINX_PORT" {
		t.Errorf("a port that this shell moved is moved by %q", got)
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
	all := load(t, lab, "")
	if all.Starts(all.Variable("K6_IMAGE")) || !all.Starts(all.Variable("APP_IMAGE")) {
		t.Error("k6 is started, or the instances are not")
	}
}

// REDIS_TOPOLOGY is the older name of TOPOLOGY, which takes precedence.
func TestTheOlderNameOfTheTopology(t *testing.T) {
	for want, settings := range map[string][]string{
		"sentinel": {"REDIS_TOPOLOGY=sentinel"}, "cluster": {"REDIS_TOPOLOGY=single", "TOPOLOGY=cluster"}, "single": nil,
	} {
		testenv.WithoutShell(t, lab)
		p, err := compose.Load(t.Context(), lab, "", settings...)
		if err != nil || p.Topology != want || *p.Files.Services["app-1"].Environment["LAB_TOPOLOGY"] != want {
			t.Errorf("%v: the topology is %v, %v; want %s", settings, p, err, want)
		}
	}
}
