package containers

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A server is the master of the counter when it says that it is a master, and that the key exists. An answer that is no role is an error.
func TestTheMasterOfTheCounter(t *testing.T) {
	for name, c := range map[string]struct {
		answers     []string // of redis-1, redis-2, and so on
		master, why string
	}{
		"a master and its replica":      {[]string{"slave\n1\n", "master\n1\n"}, "redis-2", ""},
		"replicas alone":                {[]string{"slave\n1\n", "slave\nMOVED 1855 10.0.1.8:7101\n"}, "", "none of redis-1, redis-2"},
		"three masters of a cluster":    {[]string{"master\nMOVED 1855 10.0.1.8:7102\n", "master\n1\n", "master\n0\n"}, "redis-2", ""},
		"a password is missing":         {[]string{"NOAUTH Authentication required.\n1\n"}, "", "redis-1 is unknown"},
		"no answer":                     {[]string{""}, "", "redis-1 is unknown"},
		"two masters of the same key":   {[]string{"master\n1\n", "master\n1\n"}, "", "redis-1 and redis-2 are masters"},
		"the container cannot be asked": {nil, "", "no such container"},
	} {
		turn := -1
		master, err := Master([]string{"redis-1", "redis-2", "redis-3"}[:max(1, len(c.answers))], func(string) (string, error) {
			if turn++; c.answers == nil {
				return "master\n1\n", errors.New("no such container")
			}
			return c.answers[turn], nil
		})
		if master != c.master || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", name, master, err)
		}
	}
}

// Only a Redis that may have the counter is asked for its role, whether its name is that of a service or of a pod.
func TestWhichServersAreAsked(t *testing.T) {
	var asked []string
	names := []string{
		"app-2", "cluster-3", "redis-1", "redis-ready", "redis-ready-0", "redis-single", "redis-single-0", "redlock-4", "sentinel-3",
	}
	_, _ = Master(names, func(name string) (string, error) {
		asked = append(asked, name)
		return "slave", nil
	})
	if want := []string{"cluster-3", "redis-1", "redis-single", "redis-single-0"}; !slices.Equal(asked, want) {
		t.Errorf("%v were asked", asked)
	}
}
