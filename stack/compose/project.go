// Package compose runs the lab in containers: it reads docker-compose.yml and asks `docker compose`
// to bring it up, take it down and break it.
//
// What is NOT guaranteed: that what runs is what the files say. Somebody may have changed them, or
// the containers, since.
package compose

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
)

// Names in the files that the program must know.
const (
	file     = "docker-compose.yml"
	profile  = "load" // the load tool, which is no part of the running lab
	variable = "REDIS_TOPOLOGY"
	proof    = "redis-ready" // the service whose health is the topology's
	network  = "lab"         // that all of it is on
)

// Project is the compose files as they are read for one topology.
type Project struct {
	Topology string
	Files    *types.Project // everything, the profile "load" included

	dir      string
	settings map[string]string // lines of .env
	changed  []string          // of them: NAME=value
}

// Port is one that is published on this machine.
type Port struct {
	Service string
	Host    string // address on this machine
	Number  int
}

// Topologies are those that dir has files for, in the order of the workshop.
func Topologies(dir string) ([]string, error) {
	var found []string
	for _, name := range []string{"single", "master-slave", "sentinel", "cluster"} {
		if _, err := os.Stat(filepath.Join(dir, "deploy", "redis-topologies", name+".yaml")); err == nil {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("compose: no topologies in %s: run this in a checkout of Locklab, or name one with --dir", dir)
	}
	return found, nil
}

// Load reads the files in dir, with .env and the shell's variables, and without Docker. An empty
// topology is the one that these variables name. changed settings, each NAME=value, go before both.
func Load(ctx context.Context, dir, topology string, changed ...string) (*Project, error) {
	known, err := Topologies(dir)
	if err != nil {
		return nil, err
	}
	chosen := slices.Clone(changed)
	if topology != "" {
		chosen = append(chosen, variable+"="+topology)
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, file)},
		cli.WithWorkingDirectory(dir), cli.WithEnv(chosen), cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv, cli.WithProfiles([]string{profile}))
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	topology = cmp.Or(options.Environment[variable], known[0])
	if !slices.Contains(known, topology) {
		return nil, fmt.Errorf("compose: there is no topology %q: %s is one of %s", topology, variable, strings.Join(known, ", "))
	}
	settings, err := dotenv.GetEnvFromFile(options.Environment, options.EnvFiles)
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	files, err := options.LoadProject(ctx)
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	return &Project{Topology: topology, Files: files, dir: dir, settings: settings, changed: changed}, nil
}

// Ports are those that are published on this machine, by number.
func (p *Project) Ports() []Port {
	var all []Port
	for name, service := range p.Files.Services {
		for _, port := range service.Ports {
			number, err := strconv.Atoi(port.Published)
			if err != nil {
				continue // a range or none: any free port
			}
			all = append(all, Port{Service: name, Host: port.HostIP, Number: number})
		}
	}
	slices.SortFunc(all, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Published is where a service's first port is published, as host:port; "" when none is.
func (p *Project) Published(service string) string {
	for _, port := range p.Ports() {
		if port.Service == service {
			return net.JoinHostPort(port.Host, strconv.Itoa(port.Number))
		}
	}
	return ""
}

// HostAddrMap is the rule of an address map for a client on this machine: the containers' addresses among themselves are
// reached at the ports that are published on it. It is empty when the files have no network with a subnet.
func (p *Project) HostAddrMap() string {
	if config := p.Files.Networks[network].Ipam.Config; len(config) > 0 {
		return config[0].Subnet + "=127.0.0.1"
	}
	return ""
}

// Images are those that the services run, each once.
func (p *Project) Images() []string {
	var all []string
	for _, service := range p.Files.Services {
		all = append(all, service.Image)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Starts reports whether `up` needs the image: a profile's services are started on their own.
func (p *Project) Starts(image string) bool {
	for _, service := range p.Files.Services {
		if service.Image == image && len(service.Profiles) == 0 {
			return true
		}
	}
	return false
}

// Variable is the setting's value, from the shell or .env.
func (p *Project) Variable(name string) string { return p.Files.Environment[name] }

// PortVariable names the setting that decides a port: the one that is its number, or else the prefix
// of a group of ports to which it belongs; "" when none does. Only a line of .env is a setting: the
// shell has variables of others, too.
func (p *Project) PortVariable(number int) string {
	text := strconv.Itoa(number)
	prefix := ""
	for name := range p.settings {
		value := p.Variable(name)
		switch {
		case strings.HasSuffix(name, "_PORT") && value == text:
			return name
		case strings.HasSuffix(name, "_PORTS") && value == text[:len(text)-1]:
			prefix = name
		}
	}
	return prefix
}
