// Package compose runs the lab in containers: `docker compose` says what is in docker-compose.yml, starts it, stops it and makes it fail.
//
// What is NOT guaranteed: that the running containers are as the files say. Both may have been changed since.
package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names in the files that the program depends on.
const (
	profile  = "load" // of the load tools, which do not belong to the running lab
	variable = "TOPOLOGY"
	network  = "lab" // the network of all services

	own = ".env" // settings of the user, which take precedence over deploy/defaults.env; git ignores it
)

// Project is the content of the compose files for one topology.
type Project struct {
	Topology string
	Files    Files

	dir     string
	changed []string // NAME=value, instead of lines of the env files
}

// Files are what the lab needs of the output of docker compose config.
type Files struct {
	Name     string
	Services map[string]Service // also those of the profile "load"
	Networks map[string]struct {
		Name string
		Ipam struct{ Config []struct{ Subnet string } }
	}
}

// Service is one service of the files.
type Service struct {
	Image       string
	Scale       *int
	Profiles    []string
	Environment map[string]string
	DependsOn   map[string]any `json:"depends_on"`
	Ports       []struct {
		HostIP    string `json:"host_ip"`
		Published string
	}
	Networks map[string]struct {
		Address string `json:"ipv4_address"`
	}
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

// Load asks docker compose for the content of the files in dir. Without a topology ("") it is the one that the settings name. changed
// settings, each NAME=value, take precedence over the environment, the environment over .env, and that over the defaults.
func Load(ctx context.Context, dir, topology string, changed ...string) (*Project, error) {
	known, err := Topologies(dir)
	if err != nil {
		return nil, err
	}
	p := &Project{Topology: topology, dir: dir, changed: changed}
	if topology == "" || slices.Contains(known, topology) {
		if err := p.read(ctx); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(known, p.Topology) {
		return nil, fmt.Errorf("compose: there is no topology %q: %s is one of %s", p.Topology, variable, strings.Join(known, ", "))
	}
	return p, nil
}

func (p *Project) read(ctx context.Context) error {
	out, err := Docker{Project: p}.output(ctx, "compose", "--profile="+profile, "config", "--format", "json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), &p.Files); err != nil {
		return fmt.Errorf("docker compose config: %w", err)
	}
	p.Topology = p.Environment("app-1", "LAB_TOPOLOGY")
	return nil
}

// Ports returns the ports that are published on this machine, sorted by number. A service that the settings switch off publishes none.
func (p *Project) Ports() []Port {
	var all []Port
	for name, service := range p.Files.Services {
		if service.Off() {
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
		if service.Image == image && service.Starts() {
			return true
		}
	}
	return false
}

// Environment returns a variable of a service, or "".
func (p *Project) Environment(service, name string) string {
	return p.Files.Services[service].Environment[name]
}

// Starts reports whether [Docker.Up] starts the service: not the load tools, and not what the settings switch off.
func (s Service) Starts() bool { return !slices.Contains(s.Profiles, profile) && !s.Off() }

// Off reports whether the settings switch the service off.
func (s Service) Off() bool { return s.Scale != nil && *s.Scale == 0 }
