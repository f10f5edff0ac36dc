package preflight

import (
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
)

// consequences says what a lock is like where a step is refused.
var consequences = map[lockstrategy.Step]string{
	lockstrategy.Acquire:   "no lock is granted",
	lockstrategy.Renew:     "no lock is renewed, so that each is lost when its lease ends",
	lockstrategy.Release:   "no lock is released, so that each is kept until its lease ends",
	lockstrategy.Publish:   unnotified,
	lockstrategy.Subscribe: unnotified,
}

const unnotified = "waiters are not notified of releases: they poll, and turns take longer; exclusion is not concerned"

// refusals finds what the servers refused to a probe. A lock over a quorum works while a majority answers, and refuses nothing that it
// needs.
func refusals(lock string, servers []Facts) []Weakness {
	var all []Weakness
	voters := 0 // a server that gives no answer is none
	for _, f := range servers {
		if f.votes {
			voters++
		}
	}
	suffices := lock == quorum && voters > len(servers)/2
	for _, f := range servers {
		for i, r := range f.refusals {
			w := Weakness{What: "it refuses to " + string(r.Step), Why: consequences[r.Step], Remedy: remedy(lock, r)}
			if next := i + 1; r.Step == lockstrategy.Publish && next < len(f.refusals) && short(f.refusals[next].Err) == short(r.Err) {
				continue // both are refused for one reason
			}
			if i > 0 && r.Step == lockstrategy.Subscribe && short(f.refusals[i-1].Err) == short(r.Err) {
				w.What = "it refuses to publish and to subscribe"
			}
			w.What += ": " + short(r.Err)
			if w.Refuses = essential(r) && !suffices; essential(r) && suffices {
				w.Why = "this node does not vote, so that fewer of the others may fail"
			}
			w.Grave = w.Refuses
			all = add(all, w, f.Node)
		}
	}
	return all
}

// essential reports whether there is no lock without the step.
func essential(r lockstrategy.Refusal) bool {
	return r.Step != lockstrategy.Publish && r.Step != lockstrategy.Subscribe
}

// remedy says what helps. Redis names no reason but in the text of its reply.
func remedy(lock string, r lockstrategy.Refusal) string {
	keys, channels := "~lock:* ~locklab_fence:*", "&redisson_lock__channel:*"
	if lock == quorum {
		keys, channels = "~redlock:*", "&redlock_channel:*"
	}
	text := r.Err.Error()
	switch {
	case strings.Contains(text, "OOM "):
		return "free memory, raise maxmemory, or give the locks a server that holds nothing else"
	case strings.Contains(text, "unknown command"):
		return "take the command's rename-command out of the server's configuration"
	case strings.Contains(text, "channel"):
		return "allow this user the channels: ACL SETUSER with " + channels
	case strings.Contains(text, "keys used"), strings.Contains(text, "a key"):
		return "allow this user the keys: ACL SETUSER with " + keys
	case strings.Contains(text, "NOPERM"), strings.Contains(text, "can't run this command"):
		return "allow this user the command: ACL SETUSER with +COMMAND"
	case redis.HasErrorPrefix(r.Err, "MOVED"), redis.HasErrorPrefix(r.Err, "CLUSTERDOWN"):
		return "start the instance with --topology cluster, and see that the cluster serves all of its slots"
	case redis.HasErrorPrefix(r.Err, "READONLY"):
		return "name the master, or let sentinel or a cluster name it"
	}
	return "mend what the reply says"
}
