package doctor

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"locklab/lab/servers/compose"
)

// ReadLab reads what the checks need to know about the lab in dir. It has the ports of every topology, because a workshop tries them all.
func ReadLab(ctx context.Context, dir string) Lab {
	lab := Lab{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "docker-compose.yml")); err != nil {
		lab.Err = errors.New("no docker-compose.yml in " + dir)
		return lab
	}
	topologies, err := compose.Topologies(dir)
	if err != nil {
		lab.Err = err
		return lab
	}
	for _, topology := range topologies {
		project, err := compose.Load(ctx, dir, topology)
		if err != nil {
			lab.Err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
			return lab
		}
		lab.Add(project)
	}
	slices.SortFunc(lab.Ports, func(a, b Port) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(lab.Images, func(a, b Image) int { return cmp.Compare(a.Name, b.Name) })
	return lab
}

// Add adds the network, ports and images of a project, each once.
func (lab *Lab) Add(project *compose.Project) {
	lab.Project = project.Files.Name
	for _, network := range project.Files.Networks {
		if len(network.Ipam.Config) > 0 {
			lab.Network, lab.Subnet = network.Name, network.Ipam.Config[0].Subnet
		}
	}
	for _, p := range project.Ports() {
		if !slices.ContainsFunc(lab.Ports, func(q Port) bool { return q.Number == p.Number }) {
			lab.Ports = append(lab.Ports, Port{Service: p.Service, Number: p.Number, Variable: project.PortVariable(p.Number)})
		}
	}
	for _, service := range project.Files.Services {
		if service.GetScale() == 0 {
			continue
		}
		known := slices.IndexFunc(lab.Images, func(i Image) bool { return i.Name == service.Image })
		if known < 0 {
			known, lab.Images = len(lab.Images), append(lab.Images, Image{Name: service.Image})
		}
		// Several services may run an image that one of them builds.
		if service.Build != nil {
			lab.Images[known].Built, lab.Images[known].From = true, builtFrom(service)
		}
	}
}

// builtFrom returns the image from which the image of service is built.
func builtFrom(service types.ServiceConfig) string {
	for _, argument := range []string{"GO_IMAGE", "K6_BASE_IMAGE"} {
		if image := service.Build.Args[argument]; image != nil {
			return *image
		}
	}
	return baseImage // of JMeter, whose build has no argument
}
