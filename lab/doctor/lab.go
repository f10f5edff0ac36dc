package doctor

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	slices.Sort(lab.Images)
	return lab
}

// Add adds the subnet, ports and images of a project, each once.
func (lab *Lab) Add(project *compose.Project) {
	lab.Project = project.Files.Name
	for _, network := range project.Files.Networks {
		if len(network.Ipam.Config) > 0 {
			lab.Subnet = network.Ipam.Config[0].Subnet
		}
	}
	for _, p := range project.Ports() {
		if port := (Port{Service: p.Service, Number: p.Number}); !slices.Contains(lab.Ports, port) {
			lab.Ports = append(lab.Ports, port)
		}
	}
	for _, service := range project.Files.Services {
		if !service.Off() && !slices.Contains(lab.Images, service.Image) {
			lab.Images = append(lab.Images, service.Image)
		}
	}
}
