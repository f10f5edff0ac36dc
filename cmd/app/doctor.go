package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/internal/doctor"
	"locklab/stack/compose"
)

// doctorCommand checks this machine.
type doctorCommand struct {
	Dir  string   `default:"." placeholder:"DIR" help:"Directory with docker-compose.yml (default: ${default})."`
	Skip []string `placeholder:"NAME,…" help:"Checks to leave out (default: none): docker, compose, files, images, ports, subnet, memory, limits, k6, jmeter."`
	JSON bool     `name:"json" help:"Print what was found as JSON, for programs."`
}

// Run checks this machine and says what is missing for a workshop.
func (c *doctorCommand) Run(ctx context.Context, std streams) error {
	for _, name := range c.Skip {
		if !slices.Contains(doctor.Names(), name) {
			return misuse("--skip names %q; allowed are %s", name, strings.Join(doctor.Names(), ", "))
		}
	}
	tell := newProgress(std.err)
	tell.step("checking this machine")
	checks := slices.DeleteFunc(doctor.Checks(labIn(ctx, c.Dir)), func(check doctor.Check) bool {
		return slices.Contains(c.Skip, check.Name)
	})
	results := doctor.Run(ctx, checks)
	tell.done()
	if ctx.Err() != nil {
		return exitError{exitInterrupted, errors.New("interrupted: nothing is said")}
	}
	if err := c.print(results, std); err != nil {
		return err
	}
	if doctor.Problems(results) > 0 {
		return exitError{code: exitRefuted}
	}
	return nil
}

func (c *doctorCommand) print(results []doctor.Result, std streams) error {
	if c.JSON {
		encoder := json.NewEncoder(std.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			OK     bool            `json:"ok"`
			Checks []doctor.Result `json:"checks"`
		}{doctor.Problems(results) == 0, results})
	}
	_, err := fmt.Fprint(std.out, doctor.Text(results))
	return err
}

// labIn reads what the doctor must know of the lab in dir. A workshop tries all topologies, so lab has the ports of all.
func labIn(ctx context.Context, dir string) doctor.Lab {
	lab := doctor.Lab{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "docker-compose.yml")); err != nil {
		lab.Err = errors.New("there is no docker-compose.yml in " + dir)
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
		addTo(&lab, project)
	}
	slices.SortFunc(lab.Ports, func(a, b doctor.Port) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(lab.Images, func(a, b doctor.Image) int { return cmp.Compare(a.Name, b.Name) })
	return lab
}

// addTo adds the ports and images of project that lab does not have yet.
func addTo(lab *doctor.Lab, project *compose.Project) {
	lab.Project = project.Files.Name
	for _, network := range project.Files.Networks {
		if len(network.Ipam.Config) > 0 {
			lab.Network, lab.Subnet = network.Name, network.Ipam.Config[0].Subnet
		}
	}
	for _, p := range project.Ports() {
		if !slices.ContainsFunc(lab.Ports, func(q doctor.Port) bool { return q.Number == p.Number }) {
			lab.Ports = append(lab.Ports, doctor.Port{Service: p.Service, Number: p.Number, Variable: project.PortVariable(p.Number)})
		}
	}
	for _, service := range project.Files.Services {
		known := slices.IndexFunc(lab.Images, func(i doctor.Image) bool { return i.Name == service.Image })
		if known < 0 {
			known, lab.Images = len(lab.Images), append(lab.Images, doctor.Image{Name: service.Image})
		}
		// One service builds the image, others may only run it.
		if service.Build != nil {
			lab.Images[known].Built, lab.Images[known].From = true, project.Variable("GO_IMAGE")
		}
	}
}
