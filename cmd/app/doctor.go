package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/internal/progress"
	"locklab/lab/doctor"
	"locklab/lab/report/terminal"
	"locklab/lab/servers/compose"
)

type doctorCommand struct {
	Dir  string   `default:"." placeholder:"DIR" help:"Directory that contains docker-compose.yml."`
	Skip []string `enum:"${checks}" placeholder:"NAME" help:"Checks to skip (default: none): ${enum}."`
	JSON bool     `name:"json" help:"Print the results as JSON."`
}

// Run checks whether this machine is ready for a workshop.
func (c *doctorCommand) Run(ctx context.Context, std streams) error {
	tell := progress.New(std.err)
	tell.Say("checking this machine")
	checks := slices.DeleteFunc(doctor.Checks(readLab(ctx, c.Dir)), func(check doctor.Check) bool {
		return slices.Contains(c.Skip, check.Name)
	})
	results := doctor.Run(ctx, checks)
	tell.Done()
	if err := commandError(ctx, nil, "nothing was checked"); err != nil {
		return err
	}
	if err := printResult(std, c.JSON, diagnosis{doctor.Problems(results) == 0, results}, diagnosis.text); err != nil {
		return err
	}
	if doctor.Problems(results) > 0 {
		return exitError{code: exitUnexpected}
	}
	return nil
}

// diagnosis is the output of --json.
type diagnosis struct {
	OK     bool            `json:"ok"`
	Checks []doctor.Result `json:"checks"`
}

func (d diagnosis) text(shown terminal.Screen) string { return doctor.Text(d.Checks, shown.Fit) }

// readLab reads what the checks need to know about the lab in dir. It has the ports of every topology, because a workshop tries them all.
func readLab(ctx context.Context, dir string) doctor.Lab {
	lab := doctor.Lab{Dir: dir}
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
		addProject(&lab, project)
	}
	slices.SortFunc(lab.Ports, func(a, b doctor.Port) int { return cmp.Compare(a.Number, b.Number) })
	slices.Sort(lab.Images)
	return lab
}

// addProject adds the subnet, ports and images of project to lab, each once.
func addProject(lab *doctor.Lab, project *compose.Project) {
	lab.Project = project.Files.Name
	for _, network := range project.Files.Networks {
		if len(network.Ipam.Config) > 0 {
			lab.Subnet = network.Ipam.Config[0].Subnet
		}
	}
	for _, p := range project.Ports() {
		if port := (doctor.Port{Service: p.Service, Number: p.Number}); !slices.Contains(lab.Ports, port) {
			lab.Ports = append(lab.Ports, port)
		}
	}
	for _, service := range project.Files.Services {
		if service.GetScale() > 0 && !slices.Contains(lab.Images, service.Image) {
			lab.Images = append(lab.Images, service.Image)
		}
	}
}
