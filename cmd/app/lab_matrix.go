package main

import (
	"fmt"
	"os"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/matrix"
)

type labMatrixCommand struct{ savedRuns }

func (c *labMatrixCommand) Run(std streams) error {
	runs, err := c.load()
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return unavailable(fmt.Errorf("%s has no saved run: %s lab run --quick makes some", c.Store, self()))
	}
	_, err = fmt.Fprint(std.out, matrix.Of(claims.All(), runs).Text(self(), screen(std.out)))
	return err
}

// savedRuns has the flag of commands that sum saved runs up.
type savedRuns struct {
	Store string `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder that contains the saved runs."`
}

// load returns the newest run of each experiment, judged again. A store that does not exist has no runs.
func (s savedRuns) load() (all []lab.Saved, err error) {
	switch info, err := os.Stat(s.Store); {
	case err != nil && !os.IsNotExist(err):
		return nil, unavailable(err)
	case err == nil && !info.IsDir():
		return nil, unavailable(fmt.Errorf("%s is not a folder of saved runs", s.Store))
	}
	for _, dir := range lab.Runs(s.Store) {
		all = append(all, claims.All().Rejudge(dir))
	}
	return all, nil
}
