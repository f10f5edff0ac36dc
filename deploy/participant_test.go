package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

// dockerOf puts a docker on the PATH that knows the containers of a lab which was started in a folder; without one there are none.
func dockerOf(t *testing.T, folder string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *project=locklab-7\\ *) echo '" + folder + "' ;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// A number is that of one lab. With a refusal Compose starts nothing.
func TestANumberIsTakenOnce(t *testing.T) {
	script, err := filepath.Abs("participant")
	if err != nil {
		t.Fatal(err)
	}
	other, here, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, number, folder string
		taken                bool
	}{
		{"another lab", "7", other, true},
		{"another lab with another number", "8", other, false},
		{"one's own lab", "7", here, false},
		{"one's own lab, by another path", "7", link, false},
		{"a folder that is gone", "7", filepath.Join(other, "gone"), true}, // or a folder that this user may not see
	} {
		t.Run(c.name, func(t *testing.T) {
			dockerOf(t, c.folder)
			cmd := exec.CommandContext(t.Context(), "sh", script, c.number)
			cmd.Dir = here
			var printed, said strings.Builder
			cmd.Stdout, cmd.Stderr = &printed, &said
			err := cmd.Run()
			if (err != nil) != c.taken || c.taken && !strings.Contains(said.String(), "the lab in "+c.folder+".") {
				t.Errorf("%v, %q, %q", err, printed.String(), said.String())
			}
			settings := strings.Split(strings.ReplaceAll(strings.TrimSpace(printed.String()), `"`, ""), "\n")
			_, err = composefiles.Load(t.Context(), "..", "", settings...)
			if (err != nil) != c.taken { // the lines after a refusal must not be for another lab
				t.Errorf("Compose reads these settings: %v: %s", err, printed.String())
			}
		})
	}
}

// Labs of several participants share one machine: no project name, network or port is there twice, in any topology.
func TestParticipantsHaveProjectsPortsAndNetworksOfTheirOwn(t *testing.T) {
	dockerOf(t, "") // labs of this machine do not matter
	used := map[string]int{}
	topologies, err := compose.Topologies("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{0, 1, 2, 49} {
		var settings []string
		if number > 0 { // 0 is the lab without .env
			out, err := exec.CommandContext(t.Context(), "sh", "participant", strconv.Itoa(number)).Output()
			if err != nil {
				t.Fatal(err)
			}
			settings = strings.Fields(string(out))
		}
		mine := map[string]bool{}
		for _, topology := range topologies {
			p, err := composefiles.Load(t.Context(), "..", topology, append(settings, "BACKENDS=1")...)
			if err != nil {
				t.Fatal(err)
			}
			mine["project "+p.Files.Name] = true
			mine["network "+p.Files.Networks["lab"].Ipam.Config[0].Subnet] = true
			for _, port := range p.Ports() {
				mine["port "+strconv.Itoa(port.Number)] = true
				if port.Number > 32767 {
					t.Errorf("participant %d: %d is a port that the kernel gives to clients", number, port.Number)
				}
			}
		}
		for what := range mine {
			if other, taken := used[what]; taken {
				t.Errorf("participants %d and %d have the same %s", other, number, what)
			}
			used[what] = number
		}
	}
	for _, wrong := range []string{"", "0", "50", "07", "1 2"} {
		out, err := exec.CommandContext(t.Context(), "sh", append([]string{"participant"}, strings.Fields(wrong)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "usage: deploy/participant NUMBER") {
			t.Errorf("participant %q: %v, %s", wrong, err, out)
		}
	}
}

// Compose 2.29.0 replaces a variable after two dollar signs in included files, which other versions leave to the container's shell.
func TestIncludedFilesHaveNoEscapedVariables(t *testing.T) {
	files := []string{"lab.yaml", "app.yaml"}
	for _, folder := range []string{"redis-topologies", "instances", "backends"} {
		more, _ := filepath.Glob(folder + "/*.yaml")
		files = append(files, more...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), "$$") {
			t.Errorf("%s has two dollar signs (%v)", file, err)
		}
	}
}

// Each script has its own number of users. The container of k6 sets USERS for both, so that must be empty, and mean the script's own.
func TestScriptsOfK6HaveTheirOwnNumberOfUsers(t *testing.T) {
	everyTopology(t, func(t *testing.T, p *composefiles.Project) {
		if users := p.Files.Services["k6"].Environment["USERS"]; users == nil || *users != "" {
			t.Errorf("the container of k6 has USERS=%v: order.js would send as many as pview.js", users)
		}
	})
	testenv.Needs(t, testenv.K6)
	own := map[string]bool{}
	for _, script := range []string{"order", "pview", "shop"} {
		inspect := exec.CommandContext(testenv.Context(t), "k6", "inspect", "--include-system-env-vars", "../loadtest/k6/"+script+".js")
		inspect.Env = append(os.Environ(), "USERS=")
		out, err := inspect.Output()
		got := regexp.MustCompile(`"vus": (\d+)`).FindStringSubmatch(string(out))
		if err != nil || got == nil || own[got[1]] {
			t.Errorf("%s.js with an empty USERS sends %v (%v)", script, got, err)
			continue
		}
		own[got[1]] = true
	}
}
