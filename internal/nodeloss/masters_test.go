package nodeloss

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A server is a master when it says so. An answer that is no role is an error.
func TestARoleIsRead(t *testing.T) {
	for said, want := range map[string]struct {
		masters int
		why     string
	}{
		"master\n3129659\n10.0.1.9\n6402\n":  {1, ""},
		"slave\n10.0.1.8\n6401\nconnected\n": {0, ""},
		"NOAUTH Authentication required.\n":  {0, "redis-1 is unknown"},
		"":                                   {0, "redis-1 is unknown"},
	} {
		masters, err := Masters([]string{"redis-1"}, func(string) (string, error) { return said, nil })
		if len(masters) != want.masters || (err == nil) != (want.why == "") || err != nil && !strings.Contains(err.Error(), want.why) {
			t.Errorf("%q: %v, %v", said, masters, err)
		}
	}
	_, err := Masters([]string{"redis-1"}, func(string) (string, error) { return "master", errors.New("no such container") })
	if err == nil || err.Error() != "no such container" {
		t.Error(err)
	}
}

// Only a Redis with the counter is asked for its role, whether its name is that of a service or of a pod.
func TestWhichServersAreAsked(t *testing.T) {
	var asked []string
	names := []string{
		"app-2", "cluster-3", "redis-1", "redis-ready", "redis-ready-0", "redis-single", "redis-single-0", "redlock-4", "sentinel-3",
	}
	masters, err := Masters(names, func(name string) (string, error) {
		asked = append(asked, name)
		return "master", nil
	})
	want := []string{"cluster-3", "redis-1", "redis-single", "redis-single-0"}
	if err != nil || !slices.Equal(asked, want) || !slices.Equal(masters, want) {
		t.Errorf("%v were asked, and %v are masters: %v", asked, masters, err)
	}
}
