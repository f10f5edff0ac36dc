package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Instance is one app process.
type Instance struct {
	*Process
	Name string // as in its answers
	URL  string // http://host:port

	start func(context.Context) (*Instance, error) // it anew
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
	i.start = func(ctx context.Context) (*Instance, error) { return s.Instance(ctx, name, argv...) }
	return i, await(ctx, p, func(context.Context) error {
		return p.findOutput(func(line string) bool {
			var start struct{ URL, Instance string }
			_ = json.Unmarshal([]byte(line), &start) // a line that is not JSON has no URL
			i.URL, i.Name = start.URL, start.Instance
			return i.URL != ""
		})
	})
}

// InstanceAtFreeAddr is as Instance. It adds the flag --listen with one of [Stack.FreeAddrs], so that the instance can be restarted.
func (s *Stack) InstanceAtFreeAddr(ctx context.Context, name string, argv ...string) (i *Instance, err error) {
	err = s.atFreeAddr(func(addr string) error {
		i, err = s.Instance(ctx, name, slices.Concat(argv, []string{"--listen=" + addr})...)
		return err
	})
	return i, err
}

// Restart kills the instance, unless it has ended, and starts it again. Its arguments must name its address, as those of
// [Stack.InstanceAtFreeAddr] do, because a balancer keeps it. The instance must not be used meanwhile.
func (i *Instance) Restart(ctx context.Context) (proof string, err error) {
	i.Kill()
	before, err := i.Ended()
	if err != nil {
		return "", err
	}
	again, err := i.start(ctx)
	if err != nil {
		return "", err
	}
	if again.URL != i.URL {
		again.Kill()
		return "", fmt.Errorf("%s listens at %s after a restart, and before at %s", i.Name, again.URL, i.URL)
	}
	i.Process = again.Process
	return fmt.Sprintf("%s; process %d serves at %s", before, i.PID(), i.URL), nil
}
