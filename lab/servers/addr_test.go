//go:build unix

package servers_test

import (
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// A program that is not ours may have taken the address. It must not pass for the server that was started.
func TestAnotherServerAtTheAddress(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *servers.Restartable{
		"redis-server": func(t *testing.T) *servers.Restartable {
			testenv.Needs(t, testenv.RedisServer)
			return &testenv.Redis(t, true).Restartable
		},
		"etcd": func(t *testing.T) *servers.Restartable {
			testenv.Needs(t, testenv.Etcd)
			e, err := testenv.Stack(t).Etcd(testenv.Context(t), 1)
			if err != nil {
				t.Fatal(err)
			}
			return &e.Members[0].Restartable
		},
		"memcached": func(t *testing.T) *servers.Restartable { return &startMemcached(t).Restartable },
		"mariadb":   func(t *testing.T) *servers.Restartable { return &mariaDB(t).Restartable },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := start(t), start(t)
			ours.Addr = theirs.Addr
			if proof, err := ours.Restart(testenv.Context(t)); err == nil || !strings.Contains(strings.ToLower(err.Error()), "in use") {
				t.Errorf("it has started: %q, %v", proof, err)
			}
		})
	}
}
