package deploy_test

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"locklab/lab/servers"
	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

// loaded are the files for each topology. No test changes them.
var loaded = map[string]*composefiles.Project{}

// everyTopology loads the files for each topology, with the backends and Prometheus, the default settings and none of the shell.
func everyTopology(t *testing.T, test func(t *testing.T, p *composefiles.Project)) {
	t.Helper()
	testenv.WithoutShell(t, "..")
	t.Setenv("BACKENDS", "1")
	t.Setenv("METRICS", "1")
	topologies, err := compose.Topologies("..")
	if err != nil || len(topologies) != 4 {
		t.Fatal(topologies, err)
	}
	for _, topology := range topologies {
		t.Run(topology, func(t *testing.T) {
			if loaded[topology] == nil {
				if loaded[topology], err = composefiles.Load(t.Context(), "..", topology); err != nil {
					t.Fatal(err)
				}
			}
			test(t, loaded[topology])
		})
	}
}

func TestPortsArePublishedOnLoopbackOnly(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		seen := map[int]string{}
		for _, port := range p.Ports() {
			if port.Host != "127.0.0.1" {
				t.Errorf("%s publishes %d on %q", port.Service, port.Number, port.Host)
			}
			if other := seen[port.Number]; other != "" {
				t.Errorf("%s and %s publish %d", other, port.Service, port.Number)
			}
			seen[port.Number] = port.Service
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
// check. The nodes of Redis have none: redis-ready asks those of the topology, and the instances RedLock's. Nobody waits for the welcome.
func TestEveryServiceIsWaitedFor(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		for name, service := range p.Files.Services {
			for on, dependency := range service.DependsOn {
				other := p.Files.Services[on]
				if len(other.Profiles) > 0 && dependency.Required {
					t.Errorf("%s requires %s, which a profile leaves out", name, on)
				}
				if len(service.Profiles) > 0 {
					t.Errorf("%s depends on %s: running it would also start that, as the shell's variables say, perhaps with another topology", name, on)
				}
			}
		}
		for name, service := range p.Files.Services {
			if service.HealthCheck != nil && service.HealthCheck.Disable {
				t.Errorf("up --wait of Compose 2.24.6 fails with %s, whose image has a health check that is switched off", name)
			}
			node := isRedis(service) && name != "redis-ready"
			if p.Starts(name) && checked(service.HealthCheck) == (node || name == "welcome") {
				t.Errorf("%s has a health check: %v", name, checked(service.HealthCheck))
			}
			_, proved := p.Files.Services["redis-ready"].DependsOn[name]
			_, asked := p.Files.Services["app-1"].DependsOn[name]
			if node && !proved && !asked {
				t.Errorf("no service asks %s whether it answers", name)
			}
		}
		for _, app := range []string{"app-1", "app-2"} { // an instance waits for its servers itself, and nginx for nobody
			for _, on := range append(backends(), "redis-ready", "mysql") {
				if _, started := p.Files.Services[app].DependsOn[on]; !started {
					t.Errorf("docker compose up %s does not start %s", app, on)
				}
			}
		}
		for _, on := range []string{"nginx", "app-1", "app-2", "redis-ready"} {
			if p.Files.Services["welcome"].DependsOn[on].Condition != types.ServiceConditionHealthy {
				t.Errorf("the welcome does not wait until %s is healthy", on)
			}
		}
	})
}

// Each check is a process, and 25 labs on one machine have 25 times as many.
func TestHealthChecksAreFew(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		for name, service := range p.Files.Services {
			if !p.Starts(name) || !checked(service.HealthCheck) {
				continue
			}
			if every := time.Duration(*service.HealthCheck.Interval); every < 5*time.Second {
				t.Errorf("%s is checked every %s, and 5 s are often enough", name, every)
			}
		}
	})
}

func checked(h *types.HealthCheckConfig) bool { return h != nil && !h.Disable && len(h.Test) > 1 }

func TestImagesHaveExactTagsAndOursAreBuiltOnce(t *testing.T) {
	exact := regexp.MustCompile(`^(quay\.io/coreos/)?[a-z0-9/]+:v?\d+\.\d+\.\d+[\w.-]*$`) // etcd's own are at Quay
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		if image := p.Variable("K6_BASE_IMAGE"); !exact.MatchString(image) {
			t.Errorf("%s is no official image with an exact tag", image)
		}
		built := map[string]int{}
		for name, service := range p.Files.Services {
			switch image := service.Image; {
			case service.Build != nil:
				built[image]++
			case !slices.Contains(ours(p), image) && (!exact.MatchString(image) || strings.Contains(image, "bitnami")):
				t.Errorf("%s is no official image with an exact tag", image)
			case slices.Contains(ours(p), image) && service.PullPolicy != types.PullPolicyNever:
				t.Errorf("Compose looks for %s of %s in a registry", image, name)
			}
		}
		for _, image := range ours(p) {
			if built[image] != 1 || len(built) != len(ours(p)) {
				t.Errorf("so many services build an image: %v", built)
			}
		}
	})
}

// ours are the images that are in no registry.
func ours(p *composefiles.Project) []string {
	return []string{p.Variable("APP_IMAGE"), p.Variable("K6_IMAGE"), p.Variable("JMETER_IMAGE")}
}

// A volume would outlive `down`. A server that rewrites a file of a bind mount fails at the rename (docker-library-redis #287).
func TestNoDataIsKeptAndNoFileOfOursIsWritten(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
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
				{"redis:", "/data"},
				{"mysql:", "/var/lib/mysql"},
				{"zookeeper:", "/data"},
				{"zookeeper:", "/datalog"},
				{"zookeeper:", "/logs"},
				{"prom/", "/prometheus"},
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

// A proxy of ~/.docker/config.json reaches every container: then a health check and a burst would ask it for nginx. Programs read either
// name.
func TestNoContainerUsesAProxy(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		for name, service := range p.Files.Services {
			for _, variable := range []string{"NO_PROXY", "no_proxy"} {
				if value := service.Environment[variable]; value == nil || *value != "*" {
					t.Errorf("%s sends its requests to a proxy: %s is not *", name, variable)
				}
			}
		}
	})
}

func TestContainersHaveNoMoreThanTheyNeed(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		for name, service := range p.Files.Services {
			if service.ContainerName != "" || service.Privileged || service.NetworkMode == "host" {
				t.Errorf("%s has a fixed name, privileges or the host's network", name)
			}
			if service.MemLimit == 0 || service.PidsLimit <= 0 {
				t.Errorf("%s has no limit of memory or of processes", name)
			}
			if service.Logging == nil || service.Logging.Options["max-size"] == "" || service.Logging.Options["max-file"] == "" {
				t.Errorf("the log of %s grows without a limit", name)
			}
			if !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) ||
				!slices.Equal(service.SecurityOpt, []string{"no-new-privileges:true"}) {
				t.Errorf("%s may write its root file system, or has privileges", name)
			}
			// The other images have a user of their own.
			own := append(ours(p), p.Variable("MEMCACHED_IMAGE"))
			if service.User == "" && !slices.Contains(own, service.Image) || strings.HasPrefix(service.User, "root") ||
				strings.HasPrefix(service.User, "0") {
				t.Errorf("%s runs as root", name)
			}
			wantMounts(t, name, service)
			if isRedis(service) && service.Restart != "no" {
				t.Errorf("%s restarts by itself: a master that comes back empty empties its replicas", name)
			}
		}
	})
}

// wantMounts checks the folders in memory of a service. A mount belongs to root unless it says otherwise, and a server without
// capabilities, or the entrypoint of its image, cannot write there. Without a size it has half of the machine's memory.
func wantMounts(t *testing.T, name string, service types.ServiceConfig) {
	t.Helper()
	owner := ":uid=999,gid=999,"
	switch {
	case strings.HasPrefix(service.Image, "zookeeper:"):
		owner = ":uid=1000,gid=1000,"
	case strings.HasPrefix(service.Image, "prom/"):
		owner = ":uid=65534,gid=65534,"
	}
	for _, mount := range service.Tmpfs {
		if !strings.Contains(mount, "size=") {
			t.Errorf("the mount %s of %s has no limit", mount, name)
		}
		if !strings.HasPrefix(mount, "/tmp:") && !strings.Contains(mount, owner) {
			t.Errorf("the mount %s of %s is not its user's, which is %s", mount, name, owner)
		}
		// Of an image without /tmp, Docker forgets the mode of the mount when the container starts again.
		if strings.HasPrefix(service.Image, "locklab") && !strings.Contains(mount, "uid=65534,gid=65534,") {
			t.Errorf("after a restart, the mount %s of %s belongs to root", mount, name)
		}
	}
}

// A container that stops loses its name, which breaks a failover. So nodes have fixed addresses.
func TestNodesHaveAddressesOfTheirOwn(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		pool := p.Files.Networks["lab"].Ipam.Config[0]
		subnet, dynamic := netip.MustParsePrefix(pool.Subnet), netip.MustParsePrefix(pool.IPRange)
		at := map[string]string{} // address:port → service
		for name, service := range p.Files.Services {
			address := ""
			if network := service.Networks["lab"]; network != nil {
				address = network.Ipv4Address
			}
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
		for _, instance := range []string{"app-1", "app-2", "page"} {
			sameAddress(t, p.Files.Services["nginx"], p.Files.Services[instance])
		}
		app := p.Files.Services["app-1"].Environment
		told := []string{"LAB_REDIS", "LAB_REDLOCK"}
		for _, kind := range servers.Backends() {
			told = append(told, kind.Variable())
		}
		for _, name := range told {
			if app[name] == nil {
				t.Errorf("the instances have no %s", name)
				continue
			}
			for addr := range strings.SplitSeq(*app[name], ",") {
				if at[addr] == "" {
					t.Errorf("%s tells the instances of %s, which no service has", name, addr)
				}
			}
		}
	})
}

// backends are the services that BACKENDS=1 starts.
func backends() (names []string) {
	for _, kind := range servers.Backends() {
		names = append(names, kind.Name)
	}
	return names
}

// One setting starts the servers and tells the instances of them. The addresses are always there.
func TestBackendsHaveOneSwitch(t *testing.T) {
	testenv.WithoutShell(t, "..")
	for setting, on := range map[string]bool{"BACKENDS=": false, "BACKENDS=0": false, "BACKENDS=1": true} {
		p, err := composefiles.Load(t.Context(), "..", "", setting)
		if err != nil {
			t.Fatal(err)
		}
		app := p.Files.Services["app-1"].Environment
		told := map[string]bool{"0": false, "1": true}
		for _, kind := range servers.Backends() {
			name, variable := kind.Name, kind.Variable()
			if app[variable] == nil {
				t.Fatalf("the instances have no %s", variable)
			}
			if p.Starts(name) != on || *app[variable] == "" || told[*app["LAB_BACKENDS"]] != on {
				t.Errorf("%s: up starts %s: %v; the instances are told %q, %q", setting, name, !on, *app[variable], *app["LAB_BACKENDS"])
			}
		}
	}
}

// sameAddress checks that nginx reaches an instance that was created again. nginx looks names up when it starts, and keeps their addresses.
func sameAddress(t *testing.T, nginx, instance types.ServiceConfig) {
	t.Helper()
	address := ""
	if network := instance.Networks["lab"]; network != nil {
		address = network.Ipv4Address
	}
	if address == "" || !slices.Equal(nginx.ExtraHosts[instance.Name], []string{address}) {
		t.Errorf("nginx knows %s at %q, and its fixed address is %q", instance.Name, nginx.ExtraHosts[instance.Name], address)
	}
}

// nginx sends requests to each of the twelve, and waits for it. Each divides the limit by twelve, and has a name of its own.
func TestTwelveInstances(t *testing.T) {
	testenv.WithoutShell(t, "..")
	project, err := composefiles.Load(t.Context(), "..", "", "APP_INSTANCES=12")
	if err != nil {
		t.Fatal(err)
	}
	p := project.Files
	nginx := p.Services["nginx"]
	at := slices.IndexFunc(nginx.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == "/etc/nginx/instances.conf" })
	upstream, err := os.ReadFile(nginx.Volumes[at].Source)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, service := range p.Services {
		if !strings.HasPrefix(name, "app-") {
			continue
		}
		if !project.Starts(name) {
			t.Errorf("up does not start %s", name)
		}
		found++
		_, port, _ := strings.Cut(*service.Environment["LAB_LISTEN"], ":")
		if line := fmt.Sprintf("\nserver %s:%s max_fails=0;\n", name, port); !strings.Contains(string(upstream), line) {
			t.Errorf("nginx does not know %s at %s", name, port)
		}
		if _, started := nginx.DependsOn[name]; !started ||
			p.Services["welcome"].DependsOn[name].Condition != types.ServiceConditionHealthy || *service.Environment["LAB_NODES"] != "12" ||
			strings.Count(string(upstream), ":"+port+" ") != 1 || service.PullPolicy != types.PullPolicyNever && service.Build == nil {
			t.Errorf("%s is not as the others: %v", name, service.DependsOn)
		}
		sameAddress(t, nginx, service)
	}
	if found != 12 {
		t.Errorf("there are %d instances", found)
	}
}
