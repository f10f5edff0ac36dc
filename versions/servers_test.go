package versions_test

import (
	"context"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/topology"
	"locklab/versions"
)

// Every kind of server in the table needs an entry in topology, which connects to it, and one in stack, which starts it.
func TestEveryServerCanBeConnectedAndStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Connect must not wait for an answer
	connectError := func(kind string) string {
		_, err := topology.Connect(ctx, kind, topology.Config{Kind: topology.Single, Addrs: []string{"127.0.0.1:1"}})
		if err == nil {
			return ""
		}
		return err.Error()
	}
	const unknown = "no-such-kind"
	for _, kind := range versions.RequiredServers(versions.Names()...) {
		name := string(kind)
		if connectError(name) == strings.ReplaceAll(connectError(unknown), unknown, name) {
			t.Errorf("topology cannot connect to %s", name)
		}
		if _, known := servers.KindNamed(name); !known {
			t.Errorf("stack cannot start %s", name)
		}
	}
}
