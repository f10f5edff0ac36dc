// Package doctor looks at a machine before a class in which everybody types `docker compose up` and
// fires 666 requests, and says what would go wrong and what to do about it.
//
// What is NOT guaranteed: that the lab runs where everything is ok. The doctor changes nothing and
// starts nothing, so it cannot know whether a container would run. It sees one moment: a port may be
// taken, a disk filled or an image removed a second later. It sees it from where it runs: in WSL it
// sees no ports of Windows, and without root not whose process holds a port of another user.
package doctor

import (
	"context"
	"time"
)

// Lab is what the doctor knows of the lab, as plain data.
type Lab struct {
	Dir     string    // where docker-compose.yml is
	Err     error     // why the files there cannot be read; then there is nothing in the fields below but Built
	Project string    // name of the Compose project
	Ports   []Port    // published on this machine, of every topology
	Images  []Image   // of every service
	Network string    // Docker's name of the lab's network
	Subnet  string    // its addresses, such as 10.66.6.0/24
	Built   time.Time // of the program: no clock is right that is before
}

// Port is one that a service publishes on this machine.
type Port struct {
	Service  string
	Host     string // address on this machine
	Number   int
	Variable string // in .env, that moves the port; "": none
}

// Image is what a service runs.
type Image struct {
	Name  string
	Built bool   // from this checkout; not pulled
	From  string // image that it is built with; "": not known
}

// Check looks at one thing. Its name is what --skip takes.
type Check struct {
	Name string
	Run  func(ctx context.Context) []Result
}

// Result is what a check found: one line.
type Result struct {
	Name  string // of the line, "": the check's
	OK    bool
	Found string
	Do    string // what helps, unless OK
}

func ok(found string) []Result          { return []Result{{OK: true, Found: found}} }
func problem(found, do string) []Result { return []Result{{Found: found, Do: do}} }

// machine is what the checks look at.
type machine struct {
	lab Lab
	run command
}

// Checks are all there are, in the order in which they are printed. What a check needs from files
// that cannot be read is left out: the line "files" says it once.
func Checks(lab Lab) []Check {
	m := machine{lab, execute}
	all := []struct {
		Check
		needsFiles bool
	}{
		{Check{"docker", m.docker}, false},
		{Check{"compose", m.compose}, false},
		{Check{"files", m.files}, false},
		{Check{"buildx", m.buildx}, true},
		{Check{"images", m.images}, true},
		{Check{"ports", m.ports}, true},
		{Check{"subnet", m.subnet}, true},
		{Check{"memory", m.memory}, false},
		{Check{"disk", m.disk}, false},
		{Check{"clock", m.clock}, false},
		{Check{"limits", m.limits}, false},
		{Check{"k6", m.k6}, false},
		{Check{"jmeter", m.jmeter}, false},
	}
	var checks []Check
	for _, c := range all {
		if lab.Err == nil || !c.needsFiles {
			checks = append(checks, c.Check)
		}
	}
	return checks
}

// Names are those of all checks.
func Names() []string {
	var names []string
	for _, c := range Checks(Lab{}) {
		names = append(names, c.Name)
	}
	return names
}
