// Package preflight tries a lock, asks its Redis servers for their settings, and finds those that lose a lock.
//
// The preflight tries the key lock:probe:NAME of the instance NAME, and in a cluster lock:probe:NAME:N of each master. The key of a probe
// that could not release it expires after two seconds.
//
// What is NOT guaranteed: it trusts the replies of the servers. It does not know their later settings, nor which other clients may
// evict, delete or promote. A server may refuse a command later. A lock without a weakness is still violated when its
// holder ignores the context of its lease.
package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// Report is the result of a preflight of one lock.
type Report struct {
	Lock       string     `json:"lock"` // "v3"
	Taken      time.Time  `json:"at"`
	Weaknesses []Weakness `json:"weaknesses"` // the grave ones first; never nil
	Unknown    []Unknown  `json:"unknown"`    // where no weakness could be looked for; never nil
}

// Weakness is one reason why a lock is lost or not granted here: a sentence for each question.
type Weakness struct {
	Where   []string `json:"where"` // servers
	What    string   `json:"what"`  // their settings, or the step that they refuse
	Why     string   `json:"why"`   // the consequence for a lock
	Remedy  string   `json:"remedy"`
	Grave   bool     `json:"grave"`             // this is no lock at all
	Refuses bool     `json:"refuses,omitempty"` // a lock needs the step that fails: the instance is not ready
}

// String is the weakness in a sentence.
func (w Weakness) String() string {
	return fmt.Sprintf("%s: %s; %s (%s)", w.What, w.Why, w.Remedy, strings.Join(w.Where, ", "))
}

// Unknown is a question that a server did not answer. A managed Redis refuses some.
type Unknown struct {
	Where []string `json:"where"` // servers
	What  string   `json:"what"`
	Why   string   `json:"why"`
}

// Check asks about one lock. answered is false when its servers are Redis and none answered.
type Check func(context.Context) (r Report, answered bool)

// Lock is the subject of a check.
type Lock struct {
	Name     string                  // "v3"
	Instance string                  // in the key that is tried
	Strategy lockstrategy.Strategy   // without a queue
	Where    string                  // names its servers
	Redis    []redis.UniversalClient // one server, a cluster, or the nodes of RedLock; none: servers that are not asked for their settings
}

// A check lasts so long: no step begins later. Half of it is for what servers say of themselves, so that one that hangs leaves time to try
// the lock. A majority of the others may grant it.
const (
	checkWithin = 2 * time.Second
	askWithin   = checkWithin / 2
)

// Check is a [Check]. After two seconds no new step begins.
func (l Lock) Check(ctx context.Context) (r Report, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	r = Report{Lock: l.Name, Taken: time.Now(), Weaknesses: []Weakness{}, Unknown: []Unknown{}}
	key := "lock:probe:" + url.QueryEscape(l.Instance) // a name may contain braces, which mean something in a key
	servers := l.servers(ctx, key)
	asking, enough := context.WithTimeout(ctx, askWithin)
	defer enough()
	var asked sync.WaitGroup
	for _, s := range servers {
		asked.Go(func() { s.ask(asking) })
	}
	asked.Wait()
	servers = slices.DeleteFunc(servers, func(s *server) bool {
		if s.unknown != nil {
			r.Unknown = append(r.Unknown, *s.unknown)
		}
		return s.said == nil
	})
	if len(l.Redis) > 0 && len(servers) == 0 {
		return r, false
	}
	r.mistakes(servers)
	probes := []*server{{node: l.Where, key: key}}
	if len(servers) > 0 && servers[0].key != "" {
		probes = servers // the masters of a cluster
	}
	for _, s := range probes {
		if step, err := session.Probe(ctx, l.Strategy, s.key); err != nil {
			r.add(s.node, refusal(step, err))
		}
	}
	for _, s := range servers {
		r.settings(s)
	}
	return r, true
}

// add adds a weakness of a server, or the server to a weakness that is there.
func (r *Report) add(where string, w Weakness) {
	i := slices.IndexFunc(r.Weaknesses, w.is)
	if i < 0 {
		i, r.Weaknesses = len(r.Weaknesses), append(r.Weaknesses, w)
	}
	r.Weaknesses[i].Where = append(r.Weaknesses[i].Where, where)
}

// is reports whether other is the same weakness, perhaps of other servers.
func (w Weakness) is(other Weakness) bool { return w.What == other.What && w.Why == other.Why }

// refusal is the weakness of a lock of which a step fails. The error has the reply of Redis.
func refusal(step session.Step, err error) Weakness {
	w := Weakness{What: "it fails to " + string(step), Why: "there is no lock without that", Grave: true, Refuses: true}
	w.Remedy = "mend what its reply says: " + err.Error()
	if step == session.Notify {
		w.Grave, w.Refuses = false, false
		w.Why = "waiters are not notified of releases: they poll, and turns take longer; exclusion is not concerned"
	}
	// A script of Redis 7.0 that is denied a command names its user.
	if reply := err.Error(); strings.Contains(reply, "NOPERM") || strings.Contains(reply, "The user executing the script") {
		w.Remedy = "give the user what docs/cli.md lists under \"Your own Redis\"; the reply: " + reply
	}
	return w
}

// server is a Redis that can grant: of a cluster every master, of RedLock every node.
type server struct {
	client  redis.UniversalClient
	node    string            // its address
	key     string            // of a master of a cluster: a key to try there
	said    map[string]string // under Redis's own names; nil if it gave no answer
	unknown *Unknown          // the question that it did not answer
}

// servers lists the Redis servers of a lock.
func (l Lock) servers(ctx context.Context, key string) (servers []*server) {
	for _, client := range l.Redis {
		s := &server{client: client, node: l.Where} // go-redis does not say which server the sentinels named
		if cluster, ok := client.(*redis.ClusterClient); ok {
			return masters(ctx, cluster, key)
		}
		if one, ok := client.(*redis.Client); ok && len(l.Redis) > 1 {
			s.node = one.Options().Addr
		}
		servers = append(servers, s)
	}
	return servers
}

// masters lists the masters of a cluster that the client knows, each with a key that begins with key.
func masters(ctx context.Context, cluster *redis.ClusterClient, key string) (servers []*server) {
	for i := range 1000 { // so many that each master has one of them
		own := fmt.Sprintf("%s:%d", key, i)
		master, err := cluster.MasterForKey(ctx, own)
		if err != nil {
			return []*server{{client: cluster, node: "the cluster", key: own}} // it will not answer
		}
		node := master.Options().Addr
		if !slices.ContainsFunc(servers, func(s *server) bool { return s.node == node }) {
			servers = append(servers, &server{client: master, node: node, key: own})
		}
	}
	return servers
}

// ask asks a server how it is set up.
func (s *server) ask(ctx context.Context) {
	pipe := s.client.Pipeline()
	info, fsync := pipe.InfoMap(ctx), pipe.ConfigGet(ctx, "appendfsync")
	cluster, nodes := pipe.ClusterInfo(ctx), pipe.ClusterNodes(ctx)
	// Each command has its own error: one that is refused does not change the other replies. Without a reply, or when the server refuses the
	// password, only Exec has the error.
	_, err := pipe.Exec(ctx)
	failed := cmp.Or(info.Err(), fsync.Err())
	if reply := redis.Error(nil); err != nil && (!errors.As(err, &reply) || cmp.Or(failed, cluster.Err(), nodes.Err()) == nil) {
		s.unknown = &Unknown{[]string{s.node}, "everything", "it gives no answer: " + err.Error()}
		return
	}
	s.said = make(map[string]string)
	for _, section := range info.Val() {
		maps.Copy(s.said, section)
	}
	maps.Copy(s.said, fsync.Val())
	if _, size, told := strings.Cut(cluster.Val(), "cluster_size:"); told && s.key == "" {
		s.said["cluster_size"], _, _ = strings.Cut(size, "\r")
	}
	if _, slots, known := strings.Cut(nodes.Val(), " myself,"); known { // its line ends in the slots that move: [SLOT->-NODE]
		slots, _, _ = strings.Cut(slots, "\n")
		s.said["moving_slots"] = strconv.Itoa(strings.Count(slots, "["))
	}
	if failed != nil {
		s.unknown = &Unknown{[]string{s.node}, "how it is set up", failed.Error()}
	}
}

// mistakes adds servers that were given in error: one node of a cluster, or one server twice.
func (r *Report) mistakes(servers []*server) {
	for _, s := range servers {
		if n := s.said["cluster_size"]; len(servers) == 1 && positive(n) && n != "1" { // the key that is tried may be one of its own
			r.add(s.node, Weakness{
				What: "it is one node of a cluster with " + n + " masters", Why: "no lock is granted on keys of the other masters",
				Remedy: "start the instance with --topology cluster", Grave: true, Refuses: true,
			})
		}
		same := func(other *server) bool { return other != s && other.said["run_id"] == s.said["run_id"] } // each Redis process has its own
		if s.said["run_id"] != "" && slices.ContainsFunc(servers, same) {
			r.add(s.node, Weakness{
				What: "it is named more than once", Why: "it votes more than once, so that it may be a majority with fewer servers than that",
				Remedy: "name each server once", Grave: true,
			})
		}
	}
}

// settings adds the settings that lose locks. With noeviction a limit of the memory is none: a full server refuses a lock.
func (r *Report) settings(s *server) {
	add := func(what, why, remedy string) { r.add(s.node, Weakness{What: what, Why: why, Remedy: remedy}) }
	limit, policy := s.said["maxmemory"], s.said["maxmemory_policy"]
	if positive(limit) && policy != "" && policy != "noeviction" {
		add("maxmemory is "+limit+" bytes with maxmemory-policy "+policy,
			"a lock may be evicted while it is held, when memory runs out, and is granted again", // each lock has an expiry
			"set maxmemory-policy noeviction, or give the locks a server that holds nothing else")
	}
	if positive(s.said["moving_slots"]) {
		add("slots of the cluster are moving",
			"a lock whose slot moves is granted only after the move; callers wait for it, and a holder keeps its lease",
			"let the move end; redis-cli --cluster fix ends one that was interrupted")
	}
	if replicas := s.said["connected_slaves"]; positive(replicas) {
		add("it has replicas: "+replicas,
			"a replica may be promoted that has not got a lock yet, and grants it again; a master that is cut off goes on granting",
			"let the resource check the fencing token; or lock over independent nodes without replicas (RedLock)")
	}
	if aof, fsync := s.said["aof_enabled"], s.said["appendfsync"]; aof == "0" || aof == "1" && fsync != "always" && fsync != "" {
		add(map[string]string{"0": "appendonly is no", "1": "appendfsync is " + fsync}[aof],
			"a restart forgets locks that are held, and they are granted again; a node of RedLock votes again",
			"set appendonly yes with appendfsync always; or start a server that crashed only when a lease has passed")
	}
}

// positive reports whether a server told a number above zero.
func positive(number string) bool { return strings.Trim(number, "0") != "" }
