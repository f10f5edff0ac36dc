package servers

import (
	"context"
	"fmt"
	goversion "go/version"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Program is what a server needs on this machine.
type Program struct {
	Name             string // on the PATH
	Debian, Homebrew string // its packages; empty: none is known
	Built            bool   // in a checkout: no package has it, and find says how to get it
	Oldest           string // version with which the lab works; empty: none is known

	find    func() error  // what is missing; nil: Name is looked for on the PATH
	version func() string // nil: Name is asked for it
}

// Missing says what is not on this machine, or is too old, and its packages; nil: nothing is missing.
func (p Program) Missing() error {
	find := p.find
	if find == nil {
		find = func() error { _, err := exec.LookPath(p.Name); return err }
	}
	if old := p.TooOld(); old != nil {
		return fmt.Errorf("%w: install its own package, or that of a newer system", old)
	}
	switch err := find(); {
	case err != nil && p.Built:
		return err
	case err != nil:
		return fmt.Errorf("%w (Debian: apt-get install %s, macOS: brew install %s)", err, p.Debian, p.Homebrew)
	}
	return nil
}

// TooOld says that the program on the PATH is older than the oldest with which the lab works. A version that is not known is not too old,
// and neither is a program that is not there.
func (p Program) TooOld() error {
	if p.Oldest == "" {
		return nil
	}
	version := p.Version()
	if version == "" || goversion.Compare("go"+version, "go"+p.Oldest) >= 0 {
		return nil
	}
	return fmt.Errorf("%s on the PATH is %s, and the lab needs %s or newer", p.Name, version, p.Oldest)
}

var (
	versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)
	askedVersions sync.Map // by the path of the program: starting it takes milliseconds
)

// versionWithin bounds a program that does not know the flag, and serves.
const versionWithin = 5 * time.Second

// Version is that of the program which a stack starts: what it prints; empty: it is not there, or prints none.
func (p Program) Version() string {
	if p.version != nil {
		return p.version()
	}
	path, err := exec.LookPath(p.Name)
	if err != nil {
		return ""
	}
	if known, asked := askedVersions.Load(path); asked {
		return known.(string)
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionWithin)
	defer cancel()
	text, _ := exec.CommandContext(ctx, path, "--version").Output()
	version := versionNumber.FindString(string(text))
	askedVersions.Store(path, version)
	return version
}

// WithVersion is the name of the program with its version, if that is known.
func (p Program) WithVersion() string { return strings.TrimSpace(p.Name + " " + p.Version()) }

// Install is how to install the program.
func (p Program) Install() string {
	if p.Debian == "" {
		return "install it"
	}
	return fmt.Sprintf("apt-get install %s (or brew install %s)", p.Debian, p.Homebrew)
}

// others are programs that are no kind of server.
var others = []Program{NginxServer, ArticlesJava}

// ProgramNamed returns the program of that name, or one of which no package is known.
func ProgramNamed(name string) Program {
	for _, p := range others {
		if p.Name == name {
			return p
		}
	}
	for _, k := range kinds {
		if k.Program.Name == name {
			return k.Program
		}
	}
	return Program{Name: name}
}
