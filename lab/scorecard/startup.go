package scorecard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"locklab/lab"
	"locklab/lab/servers"
)

// ProgramError says why a program cannot be tried, and what its author has to mend.
type ProgramError struct {
	Why    string
	Stderr []string // its last lines there
}

func (e ProgramError) Error() string {
	text := "the program cannot be tried: " + e.Why
	if n := len(e.Stderr); n > 0 {
		text += fmt.Sprintf("; the last line of its stderr is %q", e.Stderr[n-1])
	}
	return text
}

// startError says why a program does not start, and what to do.
func startError(name string, err error) error {
	path, why := locate(name)
	if why == nil {
		said := err.Error()
		why = startable(path, said[strings.LastIndex(said, ": ")+1:]) // the cause is the last part
	}
	return ProgramError{Why: why.Error()}
}

// locate returns the file of a program.
func locate(name string) (path string, err error) {
	if strings.ContainsRune(name, os.PathSeparator) {
		return name, nil
	}
	path, err = exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if info, failed := os.Stat(name); failed == nil && !info.IsDir() {
		return name, fmt.Errorf("%s is a file of this folder, and only programs in PATH start without a folder; write ./%s", name, name)
	}
	return name, fmt.Errorf("%s is not in PATH; install it, or write the path of a file, such as ./%s", name, name)
}

// startable says why the system does not start a file, and what to do. said is the system's own reason.
func startable(path, said string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		here, _ := os.Getwd()
		return fmt.Errorf("there is no file %s, as seen from the folder %s; correct the path", path, here)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; write the path of the program in it", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable; run: chmod +x %[1]s", path)
	}
	line, err := beginning(path)
	if err == nil {
		err = interpreted(path, string(line))
	}
	switch {
	case err != nil:
		return err
	case !strings.HasSuffix(said, noFormat):
		return fmt.Errorf("%s does not start: %s", path, said)
	case bytes.HasPrefix(line, []byte("\x7fELF")), bytes.HasPrefix(line, []byte("\xcf\xfa\xed\xfe")), bytes.HasPrefix(line, []byte("MZ")):
		return fmt.Errorf("%s was built for another system or processor; build it for %s/%s", path, runtime.GOOS, runtime.GOARCH)
	}
	return fmt.Errorf("the first line of %s names no interpreter, such as #!/usr/bin/env python3; add that line, "+
		"or write the interpreter before the file: app lab try -- python3 %[1]s", path)
}

// noFormat is what the system says of a file that it does not know how to run.
const noFormat = "exec format error"

// interpreted says what is wrong with the first line of a script; nil: nothing, or it names no interpreter.
func interpreted(path, line string) error {
	if strings.HasPrefix(line, "\ufeff#!") {
		return fmt.Errorf("the first line of %s begins with a byte order mark, so its interpreter is not found; save the file without it", path)
	}
	command, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(command)
	switch {
	case !script:
		return nil
	case strings.HasSuffix(line, "\r"):
		return fmt.Errorf("the first line of %s, %q, ends with a carriage return, as in files of Windows, so its interpreter is not found; "+
			"run: sed -i 's/\\r$//' %[1]s", path, line)
	case len(words) == 0:
		return fmt.Errorf("the first line of %s, %q, names no interpreter; write one, such as #!/usr/bin/env python3", path, line)
	}
	interpreter := words[0]
	if filepath.Base(interpreter) == "env" && len(words) > 1 && !strings.ContainsAny(words[1], "-=") {
		interpreter = words[1]
	}
	if _, err := exec.LookPath(interpreter); err != nil {
		return fmt.Errorf("the first line of %s, %q, names the interpreter %s, which is not on this machine; install it or correct the line",
			path, line, interpreter)
	}
	return nil
}

// beginning is the first line of a file without its newline, or the beginning of that.
func beginning(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 256))
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line, err
}

// noHello says why a program has ended without a hello.
func (p Program) noHello(w *servers.Dialogue, ended error) error {
	why := ended.Error() + " before it said hello"
	path, _ := locate(p.Argv[0])
	if line, err := beginning(path); err == nil {
		if wrong := interpreted(path, string(line)); wrong != nil {
			why += ": " + wrong.Error()
		}
	}
	return ProgramError{why, lastLines(w)}
}

func lastLines(w *servers.Dialogue) (lines []string) {
	for _, line := range w.LastLines(20) {
		lines = append(lines, lab.Printable(line))
	}
	return lines
}
