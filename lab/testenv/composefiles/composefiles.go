// Package composefiles reads the compose files with the library that is inside of docker compose, so that tests need no Docker.
package composefiles

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"locklab/lab/servers/compose"
)

// Project is a project as the program sees it, and everything in its files.
type Project struct {
	compose.Project
	Files *types.Project
}

// Load reads the files in dir as [compose.Load] does.
func Load(ctx context.Context, dir, topology string, changed ...string) (*Project, error) {
	if topology != "" {
		changed = append([]string{"TOPOLOGY=" + topology}, changed...)
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, "docker-compose.yml")}, cli.WithWorkingDirectory(dir),
		cli.WithEnv(changed), cli.WithOsEnv, cli.WithProfiles([]string{"load"}),
		cli.WithEnvFiles(), cli.WithDotEnv, // before the defaults, which may refer to what the user has set
		cli.WithEnvFiles(filepath.Join(dir, "deploy", "defaults.env")), cli.WithDotEnv)
	if err != nil {
		return nil, err
	}
	p := new(Project)
	if p.Files, err = options.LoadProject(ctx); err != nil {
		return nil, err
	}
	text, err := p.Files.MarshalJSON()
	if err != nil {
		return nil, err
	}
	p.Topology = p.Variable("TOPOLOGY")
	return p, json.Unmarshal(text, &p.Project.Files)
}

// Variable returns the value of a setting.
func (p *Project) Variable(name string) string { return p.Files.Environment[name] }

// Starts reports whether docker compose up starts a service.
func (p *Project) Starts(service string) bool { return p.Project.Files.Services[service].Starts() }

const asDocker = "LAB_TEST_COMPOSE_CONFIG"

// Config is the line of a script named docker that answers docker compose config. The program of the test is started again for it.
func Config() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	self = strings.ReplaceAll(self, "'", `'\''`)
	return fmt.Sprintf(`case "$*" in "compose --profile=load config "*) %s=1 exec '%s' ;; esac`, asDocker, self)
}

func init() {
	if os.Getenv(asDocker) == "" {
		return
	}
	p, err := Load(context.Background(), ".", "")
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(p.Files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Docker puts a docker on the PATH that knows docker compose config alone.
func Docker(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+Config()+"\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}
