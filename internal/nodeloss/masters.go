package nodeloss

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a command of a shell that asks the Redis of a container for its role. The client takes the password from REDISCLI_AUTH.
const Role = `redis-cli -p "$PORT" role`

// Masters asks each server that has the counter for its role, and returns those that are masters. Other names are not asked. An answer
// without a role is an error, such as the refusal of a password.
func Masters(names []string, ask func(name string) (string, error)) (masters []string, err error) {
	for _, name := range names {
		if !hasViews(name) {
			continue
		}
		said, err := ask(name)
		if err != nil {
			return nil, err
		}
		switch role, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); role {
		case "master":
			masters = append(masters, name)
		case "slave":
		default:
			return nil, fmt.Errorf("the role of %s is unknown: %q", name, said)
		}
	}
	return masters, nil
}

// Killed are the masters of Redis among what was killed, as a page shows them.
func (l *Loss) Killed() string {
	if len(l.Masters) == 0 {
		return "none"
	}
	return strings.Join(l.Masters, ", ")
}

// Promotes reports whether a topology makes a replica the master when its master is lost.
func Promotes(topology string) bool {
	return slices.Contains([]string{"sentinel", "cluster"}, topology)
}

// hasViews reports whether a service or a pod is a Redis that has the counter. Sentinels and the nodes of RedLock have none.
func hasViews(name string) bool {
	return strings.HasPrefix(name, "redis-") && !strings.HasPrefix(name, "redis-ready") || strings.HasPrefix(name, "cluster-")
}
