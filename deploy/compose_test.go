package deploy_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"locklab/stack/compose"
)

// everyTopology loads the files for each topology, with the profile backends, the variables of .env and none of the shell.
func everyTopology(t *testing.T, test func(t *testing.T, p *compose.Project)) {
	t.Helper()
	for _, name := range settings(t) {
		t.Setenv(name[0], "") // restores the variable after the test
		os.Unsetenv(name[0])
	}
	t.Setenv(profiles, backends)
	topologies, err := compose.Topologies("..")
	if err != nil || len(topologies) != 4 {
		t.Fatal(topologies, err)
	}
	for _, topology := range topologies {
		t.Run(topology, func(t *testing.T) {
			p, err := compose.Load(t.Context(), "..", topology)
			if err != nil {
				t.Fatal(err)
			}
			test(t, p)
		})
	}
}

// Of Compose's variable, and of the profile with the servers that only some locks need.
const profiles, backends = "COMPOSE_PROFILES", "backends"

// settings are the lines of .env.
func settings(t *testing.T) [][2]string {
	t.Helper()
	text, err := os.ReadFile("../.env")
	if err != nil {
		t.Fatal(err)
	}
	var all [][2]string
	for _, found := range regexp.MustCompile(`(?m)^([A-Z0-9_]+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		if found[1] != "REDIS_TOPOLOGY" {
			all = append(all, [2]string{found[1], found[2]})
		}
	}
	return all
}

func TestPortsArePublishedOnLoopbackOnly(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *compose.Project) {
		seen := map[int]string{}
		for _, port := range p.Ports() {
			if port.Host != "127.0.0.1" {
				t.Errorf("%s publishes %d on %q", port.Service, port.Number, port.Host)
			}
			if other := seen[port.Number]; other != "" {
				t.Errorf("%s and %s publish %d", other, port.Service, port.Number)
			}
			seen[port.Number] = port.Service
			if p.PortVariable(port.Number) == "" {
				t.Errorf("no line of .env moves port %d of %s", port.Number, port.Service)
			}
		}
		for name, service := range p.Files.Services {
			for _, port := range service.Ports {
				if isRedis(service) && port.Published != fmt.Sprint(port.Target) {
					t.Errorf("%s is %d inside and %s outside: a client on the host does not find what it announces", name, port.Target, port.Published)
				}
			}
		}
	})
}

func isRedis(s types.ServiceConfig) bool { return strings.HasPrefix(s.Image, "redis:") }

// `up --wait` fails when a service without a health check ends, also when it succeeds. So every service that `up` starts has a health
// check, or runs once and another service waits for its success.
func TestEveryServiceIsWaitedFor(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *compose.Project) {
		awaited := map[string]bool{}
		for name, service := range p.Files.Services {
			for on, dependency := range service.DependsOn {
				other := p.Files.Services[on]
				awaited[on] = awaited[on] || dependency.Condition == types.ServiceConditionCompletedSuccessfully
				if len(other.Profiles) > 0 && dependency.Required {
					t.Errorf("%s requires %s, which a profile leaves out", name, on)
				}
				if len(service.Profiles) > 0 {
					t.Errorf("%s depends on %s: running it would also start that, as the shell's variables say, perhaps with another topology", name, on)
				}
				if !isRedis(service) && dependency.Condition != types.ServiceConditionHealthy {
					t.Errorf("%s does not wait until %s is healthy", name, on)
				}
			}
		}
		for name, service := range p.Files.Services {
			if compose.Starts(service) && !checked(service.HealthCheck) && !awaited[name] {
				t.Errorf("%s has no health check, and no service waits for it", name)
			}
		}
		for _, app := range []string{"app-1", "app-2"} {
			for _, on := range []string{"redis-ready", "mysql", "redlock-1", "redlock-5", "etcd", "zookeeper", "memcached"} {
				if p.Files.Services[app].DependsOn[on].Condition != types.ServiceConditionHealthy {
					t.Errorf("%s does not wait for %s", app, on)
				}
			}
		}
	})
}

func checked(h *types.HealthCheckConfig) bool { return h != nil && !h.Disable && len(h.Test) > 1 }

func TestImagesHaveExactTags(t *testing.T) {
	exact := regexp.MustCompile(`^(quay\.io/coreos/)?[a-z0-9/]+:v?\d+\.\d+\.\d+[\w.-]*$`) // etcd's own are at Quay
	everyTopology(t, func(t *testing.T, p *compose.Project) {
		for _, service := range p.Files.Services {
			if image := service.Image; image != p.Variable("APP_IMAGE") && !exact.MatchString(image) || strings.Contains(image, "bitnami") {
				t.Errorf("%s is no official image with an exact tag", image)
			}
		}
	})
}

// A volume would outlive `down`. A server that rewrites a file of a bind mount fails at the rename (docker-library-redis #287).
func TestNoDataIsKeptAndNoFileOfOursIsWritten(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *compose.Project) {
		if len(p.Files.Volumes) > 0 {
			t.Errorf("there are named volumes: %v", p.Files.VolumeNames())
		}
		for name, service := range p.Files.Services {
			for _, volume := range service.Volumes {
				if volume.Type != types.VolumeTypeBind || !volume.ReadOnly {
					t.Errorf("%s mounts %s to write to", name, volume.Source)
				}
				if _, err := os.Stat(volume.Source); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, volume := range [][2]string{
				{"redis:", "/data"}, {"mysql:", "/var/lib/mysql"}, {"zookeeper:", "/data"}, {"zookeeper:", "/datalog"}, {"zookeeper:", "/logs"},
			} {
				image, path := volume[0], volume[1]
				mounted := func(mount string) bool { return strings.HasPrefix(mount+":", path+":") }
				if strings.HasPrefix(service.Image, image) && !slices.ContainsFunc(service.Tmpfs, mounted) {
					t.Errorf("%s has no tmpfs on %s: its image makes a volume there", name, path)
				}
			}
		}
	})
}

func TestContainersHaveNoMoreThanTheyNeed(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *compose.Project) {
		for name, service := range p.Files.Services {
			if service.ContainerName != "" || service.Privileged || service.NetworkMode == "host" {
				t.Errorf("%s has a fixed name, privileges or the host's network", name)
			}
			if service.MemLimit == 0 {
				t.Errorf("%s has no memory limit", name)
			}
			if name != "mysql" && // it starts as root, and drops the privileges itself
				(!service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"})) {
				t.Errorf("%s may write its root file system, or has capabilities", name)
			}
			if isRedis(service) && service.Restart != "no" {
				t.Errorf("%s restarts by itself: a master that comes back empty empties its replicas", name)
			}
		}
	})
}

// A container that stops loses its name, which breaks a failover. So nodes have fixed addresses.
func TestNodesHaveAddressesOfTheirOwn(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *compose.Project) {
		pool := p.Files.Networks["lab"].Ipam.Config[0]
		subnet, dynamic := netip.MustParsePrefix(pool.Subnet), netip.MustParsePrefix(pool.IPRange)
		at := map[string]string{} // address:port → service
		for name, service := range p.Files.Services {
			address := service.Networks["lab"].Ipv4Address
			if address == "" {
				if isRedis(service) && len(service.Ports) > 0 {
					t.Errorf("%s has no address of its own", name)
				}
				continue
			}
			ip := netip.MustParseAddr(address)
			if !subnet.Contains(ip) || dynamic.Contains(ip) {
				t.Errorf("%s has %s, which another container may get", name, ip)
			}
			for _, port := range service.Ports {
				addr := fmt.Sprintf("%s:%d", ip, port.Target)
				if at[addr] != "" {
					t.Errorf("%s and %s have %s", name, at[addr], addr)
				}
				at[addr] = name
			}
		}
		app := p.Files.Services["app-1"].Environment
		if got := *app["LAB_TOPOLOGY"]; got != p.Topology {
			t.Errorf("the instances are told that the topology is %s", got)
		}
		for _, name := range []string{"LAB_REDIS", "LAB_REDLOCK", "LAB_ETCD", "LAB_ZOOKEEPER", "LAB_MEMCACHED"} {
			for addr := range strings.SplitSeq(*app[name], ",") {
				if at[addr] == "" {
					t.Errorf("%s tells the instances of %s, which no service has", name, addr)
				}
			}
		}
	})
}

// Without the profile there are no such servers, and the instances are told of none.
func TestBackendsAreAProfile(t *testing.T) {
	everyTopology(t, func(t *testing.T, _ *compose.Project) {
		for _, chosen := range []string{"", "load"} {
			p, err := compose.Load(t.Context(), "..", "", profiles+"="+chosen)
			if err != nil {
				t.Fatal(err)
			}
			app := p.Files.Services["app-1"]
			for name, variable := range map[string]string{"etcd": "LAB_ETCD", "zookeeper": "LAB_ZOOKEEPER", "memcached": "LAB_MEMCACHED"} {
				if _, there := p.Files.Services[name]; there || app.Environment[variable] != nil {
					t.Errorf("%s=%s: there is %s, or the instances are told of it", profiles, chosen, name)
				}
			}
		}
	})
}

// Every variable of the files has a line in .env: Compose replaces an unknown variable by nothing.
func TestVariablesAreSet(t *testing.T) {
	known := map[string]bool{"REDIS_TOPOLOGY": true}
	for _, s := range settings(t) {
		known[s[0]] = true
	}
	files, _ := filepath.Glob("redis-topologies/*")
	for _, file := range append(files, "../docker-compose.yml", "backends.env") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".sh") {
			continue
		}
		for _, used := range regexp.MustCompile(`[^$]\$\{(\w+)\}`).FindAllStringSubmatch(string(text), -1) {
			if !known[used[1]] {
				t.Errorf("%s uses %s, which .env does not set", file, used[1])
			}
		}
	}
}

func TestAnUnknownTopologyIsNamed(t *testing.T) {
	_, err := compose.Load(t.Context(), "..", "ring")
	if err == nil || !strings.Contains(err.Error(), `"ring"`) || !strings.Contains(err.Error(), "single, master-slave, sentinel, cluster") {
		t.Errorf("the error is %v", err)
	}
	if _, err := compose.Load(t.Context(), t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "checkout") {
		t.Errorf("the error outside a checkout is %v", err)
	}
}
