package stack

import (
	"context"
	"encoding/json"
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

// Instance starts an app instance and waits until it serves. argv must make it log in JSON: the line that contains its
// address has a field "url". Only argv configures it: it does not inherit the variables LAB_* of this program.
func (s *Stack) Instance(ctx context.Context, name string, argv ...string) (*Instance, error) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LAB_") })
	p, err := s.start(command{name: name, argv: argv, env: env})
	if err != nil {
		return nil, err
	}
	i := &Instance{Process: p}
	return i, await(ctx, p, func(context.Context) error {
		return p.findOutput(func(line string) bool {
			var start struct{ URL, Instance string }
			_ = json.Unmarshal([]byte(line), &start) // a line that is not JSON has no URL
			i.URL, i.Name = start.URL, start.Instance
			return i.URL != ""
		})
	})
}
