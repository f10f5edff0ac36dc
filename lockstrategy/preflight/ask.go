package preflight

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
)

// Facts is what one server said of itself.
type Facts struct {
	Node        string            // host:port, where the client knows it
	Said        map[string]string // under Redis's own names; what it did not tell is missing; nil: it did not answer
	ClockOffset time.Duration     // how far its clock is ahead of ours, to half of RoundTrip
	RoundTrip   time.Duration     // 0: it did not tell the time

	refusals []lockstrategy.Refusal
	votes    bool      // a lock was tried to the end, and nothing that it needs was refused
	unknown  []Unknown // without Where
	run      string    // identifies the server's process
}

// What servers are asked: the names in Said.
const (
	saidVersion  = "redis_version"
	saidMode     = "redis_mode"
	saidRole     = "role"
	saidReplicas = "connected_slaves"
	saidMemory   = "maxmemory"
	saidPolicy   = "maxmemory_policy"
	saidAOF      = "appendonly"
	saidFsync    = "appendfsync"
	saidSave     = "save"
	saidInSync   = "min-replicas-to-write"
	saidSize     = "cluster_size" // masters with slots; asked where the client knows only one of them

	saidYes, saidNo = "yes", "no"
)

var (
	informed   = []string{saidVersion, saidMode, saidRole, saidReplicas, saidMemory, saidPolicy} // by INFO
	configured = []string{saidAOF, saidFsync, saidSave, saidInSync}                              // by CONFIG GET
)

// askServer asks one server, in two round trips. A command that is refused does not change the replies to the others.
func askServer(ctx context.Context, client redis.UniversalClient) Facts {
	f := Facts{Node: addrOf(client), Said: make(map[string]string)}
	pipe := client.Pipeline()
	info := pipe.InfoMap(ctx)
	configs := make([]*redis.MapStringStringCmd, len(configured))
	for i, name := range configured { // one by one: several in one command need Redis 7
		configs[i] = pipe.ConfigGet(ctx, name)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	if !replied(info.Err()) {
		return silent(f.Node, info.Err())
	}
	f.takeInfo(info)
	said, refusal := make(map[string]string), error(nil)
	for _, config := range configs {
		maps.Copy(said, config.Val())
		refusal = cmp.Or(refusal, config.Err())
	}
	f.take(said, configured, "CONFIG GET", refusal)
	f.askTime(ctx, client)
	return f
}

// askSize asks a node of a cluster how many masters share the keys.
func (f *Facts) askSize(ctx context.Context, client redis.UniversalClient) {
	text, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		f.refused(saidSize, "CLUSTER INFO", err)
		return
	}
	for line := range strings.Lines(text) {
		if size, found := strings.CutPrefix(strings.TrimSpace(line), saidSize+":"); found {
			f.Said[saidSize] = size
		}
	}
}

func (f *Facts) takeInfo(info *redis.InfoCmd) {
	said := make(map[string]string)
	for _, section := range info.Val() {
		maps.Copy(said, section)
	}
	f.take(said, informed, "INFO", info.Err())
	f.run = said["run_id"]
	if aof, told := said["aof_enabled"]; told { // for a server that refuses CONFIG
		f.Said[saidAOF] = map[string]string{"0": saidNo, "1": saidYes}[aof]
	}
	if port, told := said["tcp_port"]; told && f.Node == sentinelsMaster {
		f.Node += ", port " + port
	}
}

// take copies the names that were told. Those that no command told are unknown.
func (f *Facts) take(said map[string]string, names []string, command string, refusal error) {
	var missing []string
	for _, name := range names {
		if value, told := said[name]; told {
			f.Said[name] = value
		} else if _, known := f.Said[name]; !known {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 0:
	case refusal != nil:
		f.refused(strings.Join(missing, ", "), command, refusal)
	default:
		f.unknown = append(f.unknown, Unknown{What: strings.Join(missing, ", "), Why: command + " does not tell it"})
	}
}

// askTime compares the clocks. The server read its own between question and answer, so half of the round trip bounds the error.
func (f *Facts) askTime(ctx context.Context, client redis.UniversalClient) {
	asked := time.Now()
	at, err := client.Time(ctx).Result()
	trip := time.Since(asked)
	if err != nil {
		f.refused("clock", "TIME", err)
		return
	}
	f.ClockOffset, f.RoundTrip = at.Sub(asked.Add(trip/2)), trip
}

func (f *Facts) refused(what, command string, err error) {
	f.unknown = append(f.unknown, Unknown{What: what, Why: command + " could not be asked: " + short(err)})
}

// silent returns the facts of a server that does not answer.
func silent(node string, err error) Facts {
	return Facts{Node: node, unknown: []Unknown{{What: "everything", Why: "it gives no answer: " + short(err)}}}
}

func (f Facts) answered() bool { return f.Said != nil }

// replied reports whether err, if any, is the reply of a server.
func replied(err error) bool {
	var reply redis.Error
	return err == nil || errors.As(err, &reply)
}

// short is err without the arguments that Redis repeats in it, which differ for each command, and without a script's digest.
func short(err error) string {
	text, _, _ := strings.Cut(err.Error(), ", with args beginning")
	text, _, _ = strings.Cut(text, " script: ")
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}

// sentinelsMaster replaces a host:port: go-redis does not say which server the sentinels named.
const sentinelsMaster = "the sentinels' master"

// addrOf names the server that client is connected to.
func addrOf(client redis.UniversalClient) string {
	one, ok := client.(*redis.Client)
	switch {
	case !ok:
		return "the server"
	case one.Options().Addr == "FailoverClient":
		return sentinelsMaster
	}
	return one.Options().Addr
}
