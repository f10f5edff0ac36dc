package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
)

// Instance is one app process.
type Instance struct {
	*Process
	Name string // as in its answers
	URL  string // http://host:port
}

// Instance starts an app instance and waits until it serves. argv must make it log in JSON: the
// line that says where it listens has a field "url". Only its flags set it up: the variables that
// would, LAB_ and more, are those of the program that starts it.
func (s *Stack) Instance(ctx context.Context, name string, argv ...string) (*Instance, error) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LAB_") })
	p, err := s.start(name, env, argv...)
	if err != nil {
		return nil, err
	}
	i := &Instance{Process: p}
	err = await(ctx, p, func(context.Context) error { return i.readStart(p.log) })
	return i, err
}

// readStart finds the line with which an instance says that it serves.
func (i *Instance) readStart(log string) error {
	file, err := os.Open(log)
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct{ URL, Instance string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.URL != "" {
			i.URL, i.Name = line.URL, line.Instance
			return nil
		}
	}
	return errors.New("it has not said where it listens")
}
