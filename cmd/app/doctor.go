package main

import (
	"context"
	"slices"

	"locklab/internal/progress"
	"locklab/lab/doctor"
	"locklab/lab/report/terminal"
)

type doctorCommand struct {
	Dir   string   `default:"." placeholder:"DIR" help:"Directory that contains docker-compose.yml."`
	Class bool     `help:"Check only what a class in browsers needs (app lab serve --class): memory, redis-server, port 8070, and an address for phones. No Docker."`
	Skip  []string `enum:"${checks}" placeholder:"NAME" help:"Checks to skip (default: none): ${enum}."`
	JSON  bool     `name:"json" help:"Print the results as JSON."`
}

// Run checks whether this machine is ready for a workshop.
func (c *doctorCommand) Run(ctx context.Context, std streams) error {
	tell := progress.New(std.err)
	tell.Say("checking this machine")
	checks := doctor.ClassChecks()
	if !c.Class {
		checks = doctor.Checks(doctor.ReadLab(ctx, c.Dir))
	}
	checks = slices.DeleteFunc(checks, func(check doctor.Check) bool { return slices.Contains(c.Skip, check.Name) })
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
