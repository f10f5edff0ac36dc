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
	return i, await(ctx, p, func(context.Context) error {
		return p.printed(func(line string) bool {
			var start struct{ URL, Instance string }
			_ = json.Unmarshal([]byte(line), &start) // what is not JSON is not that line
			i.URL, i.Name = start.URL, start.Instance
			return i.URL != ""
		})
	})
}
