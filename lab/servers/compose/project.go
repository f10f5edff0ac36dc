// Package compose runs the lab in containers: it reads docker-compose.yml and calls `docker compose`
// to start it, stop it and make it fail.
//
// What is NOT guaranteed: that the running containers are as the files say. Both may have been changed since.
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
	"github.com/compose-spec/compose-go/v2/types"
)

// Names in the files that the program depends on.
const (
	file     = "docker-compose.yml"
	profile  = "load" // of the load tools, which do not belong to the running lab
	variable = "TOPOLOGY"
	network  = "lab" // the network of all services

	defaults = "deploy/defaults.env" // settings of the checkout
	own      = ".env"                // settings of the user, which take precedence; git ignores it
)

// Project is the content of the compose files for one topology.
type Project struct {
	Topology string
	Files    *types.Project // the services, also those of the profile "load"

	dir     string
	changed []string // NAME=value, instead of lines of the env files
}

// Port is a port that a service publishes on this machine.
type Port struct {
	Service string
	Host    string // address on this machine
	Number  int
}

// Topologies returns the topologies that have a file in dir, in the order of the workshop.
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

// Load reads the files in dir, with the settings and the variables of the environment. It does not need Docker. Without a topology
// ("") it takes the one that these variables name. changed settings, each NAME=value, take precedence over the environment, the
// environment over .env, and that over the defaults.
func Load(ctx context.Context, dir, topology string, changed ...string) (*Project, error) {
	known, err := Topologies(dir)
	if err != nil {
		return nil, err
	}
	chosen := slices.Clone(changed)
	if topology != "" {
		chosen = append(chosen, variable+"="+topology)
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, file)}, cli.WithWorkingDirectory(dir), cli.WithEnv(chosen),
		cli.WithOsEnv, cli.WithProfiles([]string{profile}),
		cli.WithEnvFiles(), cli.WithDotEnv, // before the defaults, which may refer to what the user has set
		cli.WithEnvFiles(filepath.Join(dir, defaults)), cli.WithDotEnv)
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	topology = cmp.Or(options.Environment[variable], known[0])
	if !slices.Contains(known, topology) {
		return nil, fmt.Errorf("compose: there is no topology %q: %s is one of %s", topology, variable, strings.Join(known, ", "))
	}
	files, err := options.LoadProject(ctx)
	if err != nil {
		return nil, fmt.Errorf("compose: %w", err)
	}
	return &Project{Topology: topology, Files: files, dir: dir, changed: changed}, nil
}

// Ports returns the ports that are published on this machine, sorted by number. A service that the settings switch off publishes none.
func (p *Project) Ports() []Port {
	var all []Port
	for name, service := range p.Files.Services {
		if service.GetScale() == 0 {
			continue
		}
		for _, port := range service.Ports {
			number, err := strconv.Atoi(port.Published)
			if err != nil {
				continue // a range, or none: Docker chooses
			}
			all = append(all, Port{Service: name, Host: port.HostIP, Number: number})
		}
	}
	slices.SortFunc(all, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Published returns the address on this machine (host:port) of a service's first published port; "" when it has none.
func (p *Project) Published(service string) string {
	for _, port := range p.Ports() {
		if port.Service == service {
			return net.JoinHostPort(port.Host, strconv.Itoa(port.Number))
		}
	}
	return ""
}

// HostAddrMap is the rule of an address map for a client on this machine: it reaches the addresses of the containers at their published
// ports. It is empty when the files have no network with a subnet.
func (p *Project) HostAddrMap() string {
	if config := p.Files.Networks[network].Ipam.Config; len(config) > 0 {
		return config[0].Subnet + "=127.0.0.1"
	}
	return ""
}

// Starts reports whether [Docker.Up] needs the image.
func (p *Project) Starts(image string) bool {
	for _, service := range p.Files.Services {
		if service.Image == image && Starts(service) {
			return true
		}
	}
	return false
}

// Starts reports whether [Docker.Up] starts a service of a project: not the load tools, and not what the settings switch off.
func Starts(service types.ServiceConfig) bool {
	return !slices.Contains(service.Profiles, profile) && service.GetScale() > 0
}

// Variable returns the value of a setting, from the environment or the env files.
func (p *Project) Variable(name string) string { return p.Files.Environment[name] }
