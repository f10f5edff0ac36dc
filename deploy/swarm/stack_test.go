// Package swarm_test compares the stack files with docker-compose.yml. It needs no Docker.
package swarm_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
)

// checks are what must be true of the stack of each topology.
var checks = map[string]func(t *testing.T, stack types.Services, p *compose.Project){
	"the services are those of compose":      servicesAreThoseOfCompose,
	"services are as in compose":             servicesAreAsInCompose,
	"variables are as in compose":            variablesAreAsInCompose,
	"addresses are services":                 addressesAreServices,
	"services fit Swarm":                     servicesFitSwarm,
	"what may be lost is replaced":           whatMayBeLostIsReplaced,
	"files are those of compose":             filesAreThoseOfCompose,
	"folders in memory are those of compose": foldersInMemoryAreThoseOfCompose,
}

// The stack of each topology is compared with compose. With the first one it has the backends.
func TestTheStackIsTheLabOfCompose(t *testing.T) {
	testenv.WithoutShell(t, "../..")
	topologies, err := compose.Topologies("../..")
	if err != nil || len(topologies) != 4 {
		t.Fatal(topologies, err)
	}
	for i, topology := range topologies {
		files, backends := []string{"stack.yaml", topology + ".yaml"}, "0"
		if i == 0 {
			files, backends = append(files, "backends.yaml"), "1"
		}
		p, err := compose.Load(t.Context(), "../..", topology, append(class, "BACKENDS="+backends)...)
		if err != nil {
			t.Fatal(err)
		}
		stack, err := load(t.Context(), files, class)
		if err != nil {
			t.Fatal(err)
		}
		for name, check := range checks {
			t.Run(topology+": "+name, func(t *testing.T) { check(t, stack, p) })
		}
	}
}

// class are the settings that the stack requires, and compose does not. Swarm publishes nginx at every address, which passes requests for
// the live page on. A page that is no class takes a run from everybody who reaches it.
var class = []string{"CLASS=192.168.1.20:8000", "TRAINER_TOKEN=0123456789abcdef"}

// Without an address and a token of the class, the stack is not deployed.
func TestTheStackRequiresAClass(t *testing.T) {
	for i, missing := range []string{"CLASS", "TRAINER_TOKEN"} {
		_, err := load(t.Context(), []string{"stack.yaml", "single.yaml"}, slices.Delete(slices.Clone(class), i, i+1))
		if err == nil || !strings.Contains(err.Error(), missing+" is missing a value: set it to") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	stack, err := load(t.Context(), []string{"stack.yaml", "single.yaml"}, class)
	if err != nil || !slices.Contains(stack["page"].Command, "--class") {
		t.Errorf("the page runs %v, %v", stack["page"].Command, err)
	}
}

// The lines of the page that deploy the stack give it the settings, the address and the token.
func TestThePageDeploysTheStack(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?ms)^ADDRESS=.* lab \)$`).FindString(string(page))
	const docker = `docker() { echo "$*; $CLASS; $TRAINER_TOKEN; $REDIS_IMAGE"; }`
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", docker+"\n"+lines+"\necho after: $CLASS $REDIS_IMAGE")
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	const settings = `192\.168\.1\.20:8000; [0-9a-f]{32}; redis:\S+`
	want := regexp.MustCompile(`^stack deploy -c \S+ -c \S+ --resolve-image never lab; ` + settings + `\nafter:\n$`)
	if err != nil || !want.Match(out) {
		t.Errorf("%v: %s", err, out)
	}
}

// load reads stack files with the default settings and others.
func load(ctx context.Context, files, others []string) (types.Services, error) {
	options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory("."), cli.WithEnv(others), cli.WithEnvFiles("../defaults.env"),
		cli.WithDotEnv, cli.WithName("lab"))
	if err != nil {
		return nil, err
	}
	p, err := options.LoadProject(ctx)
	if err != nil {
		return nil, err
	}
	for name, service := range p.Services {
		for i, c := range service.Configs { // the file is known by the project only
			service.Configs[i].Source = p.Configs[c.Source].File
		}
		p.Services[name] = service
	}
	return p.Services, nil
}

// Each service of compose is in the stack, and no other.
func servicesAreThoseOfCompose(t *testing.T, stack types.Services, p *compose.Project) {
	want := map[string]bool{}
	for name, service := range p.Files.Services {
		if compose.Starts(service) && name != "welcome" { // `docker stack deploy` has no last line
			want[name] = true
		}
	}
	if got := slices.Sorted(maps.Keys(stack)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("the stack has %v, and compose %v", got, want)
	}
}

// A service has the image, the limits and the health check of compose, and may do no more.
func servicesAreAsInCompose(t *testing.T, stack types.Services, p *compose.Project) {
	for name, s := range stack {
		c := p.Files.Services[name]
		limits := s.Deploy.Resources.Limits
		command := slices.Clone(c.Command)
		for i, word := range command {
			command[i] = named(p, word)
		}
		if slices.Contains(s.Command, "/lab/addresses.sh") { // it looks up the addresses, and others are compared below
			command = s.Command
		}
		if strings.HasPrefix(name, "cluster-") { // no task knows an address before it starts, so redis-ready makes the cluster
			command = s.Command
		}
		for what, pair := range map[string][2]any{
			"the image":           {s.Image, c.Image},
			"the command":         {s.Command, command},
			"the user":            {s.User, c.User},
			"memory":              {int64(limits.MemoryBytes), int64(c.MemLimit)},
			"processes":           {limits.Pids, c.PidsLimit},
			"the health check":    {s.HealthCheck, checked(t, s, c)},
			"a read-only root":    {s.ReadOnly, c.ReadOnly},
			"dropped privileges":  {s.CapDrop, c.CapDrop},
			"an init process":     {s.Init, c.Init},
			"settings of kernels": {s.Sysctls, c.Sysctls},
			"limits of files":     {s.Ulimits, c.Ulimits},
			"the log":             {s.Logging, c.Logging},
			"the time to stop":    {s.StopGracePeriod, c.StopGracePeriod},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s of %s: %+v, and %+v in compose", what, name, pair[0], pair[1])
			}
		}
	}
}

// checked is the health check that a service s must have, if the one of compose is c.
func checked(t *testing.T, s, c types.ServiceConfig) *types.HealthCheckConfig {
	if s.HealthCheck == nil || c.HealthCheck == nil || s.Name == "redis-ready" {
		return c.HealthCheck
	}
	if *s.HealthCheck.Retries <= *c.HealthCheck.Retries { // Swarm ends a task that is unhealthy
		t.Errorf("%s ends after %d failures", s.Name, *s.HealthCheck.Retries)
	}
	check := *c.HealthCheck
	check.Retries = s.HealthCheck.Retries
	if s.Name == "nginx" { // its check knows which instance is gone
		check.Test = s.HealthCheck.Test
	}
	return &check
}

// differs are variables that only compose or only the stack sets, with the reason.
var differs = map[string]string{
	"OWN": "a task is told its address as an argument, which addresses.sh looks up",
}

// The variables are those of compose, with names instead of fixed addresses.
func variablesAreAsInCompose(t *testing.T, stack types.Services, p *compose.Project) {
	for name, s := range stack {
		want := map[string]string{}
		for variable, value := range p.Files.Services[name].Environment {
			if differs[variable] == "" && (variable != "NODES" || !strings.HasPrefix(name, "cluster-")) {
				want[variable] = named(p, *value)
			}
		}
		for variable, value := range s.Environment {
			if expected, set := want[variable]; !set || *value != expected {
				t.Errorf("%s of %s is %q, and %q in compose", variable, name, *value, expected)
			}
			delete(want, variable)
		}
		for variable := range want {
			t.Errorf("%s of %s is not set", variable, name)
		}
	}
}

// named replaces the fixed addresses of containers by the names of their services.
func named(p *compose.Project, value string) string {
	for name, service := range p.Files.Services {
		if network := service.Networks["lab"]; network != nil && network.Ipv4Address != "" {
			value = regexp.MustCompile(regexp.QuoteMeta(network.Ipv4Address)+`\b`).ReplaceAllString(value, name)
		}
	}
	return value
}

// Each address in a variable, a command or a health check is a service that listens at that port.
func addressesAreServices(t *testing.T, stack types.Services, _ *compose.Project) {
	address := regexp.MustCompile(`\b([a-z][a-z0-9-]+):(\d{4,5})\b`)
	listens := map[string]string{"mysql": "3306", "nginx": "8000", "etcd": "2379", "zookeeper": "2181", "memcached": "11211"}
	found := 0
	for name, s := range stack {
		for _, text := range slices.Concat(values(s), s.Command) {
			for _, parts := range address.FindAllStringSubmatch(text, -1) {
				host, port := parts[1], parts[2]
				if _, there := stack[host]; !there && slices.Contains([]string{"etcd", "zookeeper", "memcached"}, host) {
					continue // LAB_BACKENDS is 0: a test compares it with compose
				}
				found++
				if at := stack[host].Environment["PORT"]; listens[host] != port && (at == nil || *at != port) {
					t.Errorf("%s names %s, which no service is", name, parts[0])
				}
			}
		}
		for i, word := range s.Command { // addresses.sh gets a name alone, too
			host, is := strings.CutPrefix(word, "@")
			if _, there := stack[host]; is && !strings.Contains(host, ":") && !there {
				t.Errorf("argument %d of %s is %s, which no service is", i, name, word)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d addresses are named", found)
	}
}

func values(s types.ServiceConfig) (all []string) {
	for _, value := range s.Environment {
		all = append(all, *value)
	}
	return all
}

// Each service has the address of its task, because Redis tells addresses. Only nginx is published, on its own node. One server of Redis
// stays away when it has failed, as in compose.
func servicesFitSwarm(t *testing.T, stack types.Services, p *compose.Project) {
	for name, s := range stack {
		c := p.Files.Services[name]
		if s.Deploy.EndpointMode != "dnsrr" {
			t.Errorf("%s has a virtual address", name)
		}
		for _, port := range s.Ports {
			if name != "nginx" || port.Mode != "host" || port.Published != "8000" {
				t.Errorf("%s publishes %+v", name, port)
			}
		}
		_, promoted := stack["sentinel-1"]
		replica := !promoted && slices.Contains([]string{"redis-2", "redis-3", "redis-4"}, name) // it copies a living master
		want := "any"
		if c.Restart == "no" && name != "redis-ready" && !replica || slices.Contains([]string{"etcd", "zookeeper", "memcached"}, name) {
			want = "none"
		}
		if s.Deploy.RestartPolicy == nil || s.Deploy.RestartPolicy.Condition != want {
			t.Errorf("%s is started again: %+v; want %s", name, s.Deploy.RestartPolicy, want)
		}
		if s.Deploy.Replicas != nil {
			t.Errorf("%s has %d tasks with one name", name, *s.Deploy.Replicas)
		}
	}
}

// nodes says which services are on the first node only, and which on the second only.
func nodes(t *testing.T, stack types.Services) map[string]string {
	at := map[string]string{}
	for name, s := range stack {
		switch constraints := s.Deploy.Placement.Constraints; {
		case slices.Equal(constraints, []string{"node.labels.locklab != second"}):
			at[name] = "first"
		case slices.Equal(constraints, []string{"node.labels.locklab != first"}):
			at[name] = "second"
		case len(constraints) > 0:
			t.Errorf("%s is at %v", name, constraints)
		case s.Deploy.RestartPolicy.Condition != "any":
			t.Errorf("%s may be on either node, and stays away when its node is lost", name)
		}
	}
	return at
}

// The second node never has a service that nothing replaces, and the first has the majority that promotes a replica. Only a service that
// Swarm starts anew elsewhere may be on either.
func whatMayBeLostIsReplaced(t *testing.T, stack types.Services, _ *compose.Project) {
	at := nodes(t, stack)
	needed := []string{"app-1", "nginx", "mysql", "redis-ready", "redis-single", "etcd", "zookeeper", "memcached"}
	needed = append(needed, "cluster-5") // the replica of cluster-1
	if _, cluster := stack["cluster-1"]; cluster && at["cluster-1"] != "second" {
		t.Errorf("the master of the page views is not on the second node: %v", at)
	}
	if _, promotes := stack["sentinel-1"]; !promotes {
		needed = append(needed, "redis-1")
	} else if at["redis-1"] != "second" || at["redis-2"] != "first" && at["redis-3"] != "first" {
		t.Errorf("with Sentinel the second node has the master, and the first a replica that is promoted; got %v", at)
	}
	for _, name := range needed {
		if _, there := stack[name]; there && at[name] != "first" {
			t.Errorf("%s may be on the second node, and nothing replaces it", name)
		}
	}
	for prefix, size := range map[string]int{"cluster": 3, "sentinel": 3, "redlock": 5} { // cluster-create.sh makes the first three masters
		here := 0
		for i := range size {
			if at[fmt.Sprintf("%s-%d", prefix, i+1)] == "second" {
				here++
			}
		}
		if _, there := stack[prefix+"-1"]; there && (here == 0 || 2*here >= size) {
			t.Errorf("%d of %d %s are on the second node; want a minority", here, size, prefix)
		}
	}
}

// A file of a service is the one that compose mounts at the same place, and a script that it runs is there.
func filesAreThoseOfCompose(t *testing.T, stack types.Services, p *compose.Project) {
	script := regexp.MustCompile(`^/lab/\S+\.sh$`)
	for name, s := range stack {
		targets := map[string]bool{}
		for _, config := range s.Configs {
			targets[config.Target] = true
			if filepath.Base(config.Source) == "addresses.sh" { // that of the pods
				continue
			}
			if err := mounted(p.Files.Services[name], config); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		words := slices.Clone(s.Command)
		if s.HealthCheck != nil {
			words = append(words, s.HealthCheck.Test...)
		}
		for _, word := range words {
			if word = strings.TrimSuffix(word, ` "$@"`); script.MatchString(word) && !targets[word] {
				t.Errorf("%s runs %s, which is not there", name, word)
			}
		}
	}
}

// mounted says that compose does not mount the file of a config there.
func mounted(service types.ServiceConfig, config types.ServiceConfigObjConfig) error {
	file, err := os.Stat(config.Source)
	if err != nil {
		return err
	}
	for _, volume := range service.Volumes {
		source, target := volume.Source, volume.Target
		if target == filepath.Dir(config.Target) { // a folder
			source, target = filepath.Join(source, filepath.Base(config.Target)), config.Target
		}
		if other, err := os.Stat(source); err == nil && target == config.Target && os.SameFile(file, other) {
			return nil
		}
	}
	return fmt.Errorf("compose does not mount %s at %s", config.Source, config.Target)
}

// Folders in memory have the size of compose. An image's own volume stays: Swarm mounts folders in memory as root's, and cannot tell whose.
func foldersInMemoryAreThoseOfCompose(t *testing.T, stack types.Services, p *compose.Project) {
	ofImage := []string{"/data", "/datalog", "/logs"}
	for name, s := range stack {
		got, want := []string{}, []string{}
		for _, volume := range s.Volumes {
			got = append(got, fmt.Sprintf("%s %d", volume.Target, int64(volume.Tmpfs.Size)))
		}
		for _, folder := range p.Files.Services[name].Tmpfs {
			path, options, _ := strings.Cut(folder, ":")
			_, size, _ := strings.Cut(options, "size=")
			megabytes, err := strconv.Atoi(strings.TrimSuffix(size, "m"))
			if err != nil {
				t.Error(err)
			}
			if !slices.Contains(ofImage, path) {
				want = append(want, fmt.Sprintf("%s %d", path, megabytes<<20))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, and %v in compose", name, got, want)
		}
	}
}
