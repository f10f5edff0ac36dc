package containers

import (
	"fmt"
	"slices"
	"strings"

	"locklab/lab/burst"
)

// Role is a command of a shell that asks the Redis of a container for its role, and whether it has the counter. The client takes the
// password from REDISCLI_AUTH.
const Role = `redis-cli -p "$PORT" role | head -1; redis-cli -p "$PORT" exists ` + burst.CounterKey

// Master asks servers for their role, and returns the master that has the counter. Names of other servers are not asked. An answer without
// a role is an error, such as the refusal of a password, and so are two such masters, and none.
func Master(names []string, ask func(name string) (string, error)) (master string, err error) {
	for _, name := range names {
		if !mayCount(name) {
			continue
		}
		said, err := ask(name)
		if err != nil {
			return "", err
		}
		role, counter, _ := strings.Cut(strings.TrimSpace(said), "\n")
		switch {
		case role != "master" && role != "slave":
			return "", fmt.Errorf("the role of %s is unknown: %q", name, said)
		case role == "slave" || counter != "1": // another master of a cluster says which has the slot
		case master != "":
			return "", fmt.Errorf("%s and %s are masters that have the counter", master, name)
		default:
			master = name
		}
	}
	if master == "" {
		return "", fmt.Errorf("none of %s is a master that has the counter", strings.Join(names, ", "))
	}
	return master, nil
}

// Promotes reports whether a topology makes a replica the master when its master is lost.
func Promotes(topology string) bool {
	return slices.Contains([]string{"sentinel", "cluster"}, topology)
}

// mayCount reports whether a service or a pod is a Redis that may have the counter. Sentinels and the nodes of RedLock have none.
func mayCount(name string) bool {
	return strings.HasPrefix(name, "redis-") && !strings.HasPrefix(name, "redis-ready") || strings.HasPrefix(name, "cluster-")
}
