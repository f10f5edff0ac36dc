package testenv

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo terminal.
type Terminal struct {
	File *os.File // what a program writes to
	Seen string   // what was written and read

	t       testing.TB
	master  *os.File
	columns int
}

// OpenTerminal skips the test where there are no pseudo terminals. With 0 columns the terminal does not know its size.
func OpenTerminal(t testing.TB, columns int) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		Skip(t, "this machine has no pseudo terminals: "+err.Error())
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	p := &Terminal{File: file, t: t, master: master}
	p.Resize(columns)
	return p
}

// Resize sets the width.
func (p *Terminal) Resize(columns int) {
	p.columns = columns
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		p.t.Fatal(err)
	}
}

// Until reads until a text was written that was not read before. The end of the test's context ends it.
func (p *Terminal) Until(text string) {
	p.t.Helper()
	chunk := make([]byte, 4096)
	if deadline, bounded := Context(p.t).Deadline(); bounded {
		_ = p.master.SetReadDeadline(deadline)
	}
	for from := len(p.Seen); !strings.Contains(p.Seen[from:], text); {
		n, err := p.master.Read(chunk)
		if err != nil {
			p.t.Fatalf("%v: no %q in %q", err, text, p.Seen)
		}
		p.Seen += string(chunk[:n])
	}
}

// WantAtTheEnd writes a result as a command does, and wants on the screen the lines before it and nothing else.
func (p *Terminal) WantAtTheEnd(lines ...string) {
	p.t.Helper()
	fmt.Fprintln(p.File, "Result")
	p.Until("Result\r\n")
	if got, want := p.Rows(), append(lines, "Result", ""); !slices.Equal(got, want) {
		p.t.Errorf("on the screen is %q, want %q", got, want)
	}
}

var token = regexp.MustCompile(`\x1b\[(\d*)([A-Za-z])|[^\x1b\r\n]+|\r|\n`)

// Rows are what the terminal shows: of escape codes it knows rows up, the removal of what is below, and colours.
func (p *Terminal) Rows() []string {
	screen, row := []string{""}, 0
	for _, m := range token.FindAllStringSubmatch(p.Seen, -1) {
		switch {
		case m[2] == "A":
			up, _ := strconv.Atoi(m[1])
			row -= up
		case m[2] == "J":
			screen = append(screen[:row:row], "")
		case m[0] == "\n":
			if row++; row == len(screen) {
				screen = append(screen, "")
			}
		case m[2] == "" && m[0] != "\r":
			if p.columns > 0 && utf8.RuneCountInString(m[0]) > p.columns {
				p.t.Errorf("%q is wrapped", m[0])
			}
			screen[row] += m[0]
		}
	}
	return screen
}
