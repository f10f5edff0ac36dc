package preflight

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Facts is what one server said of itself.
type Facts struct {
	Node    string            // host:port, where the client knows it
	Cluster bool              // it is a master of a cluster, asked by a client of the cluster
	Said    map[string]string // under Redis's own names; what it did not tell is missing here
	Unknown []Unknown         // without Where

	ClockOffset time.Duration // how far its clock is ahead of ours, to half of RoundTrip
	RoundTrip   time.Duration // 0: it did not tell the time
	ClockBound  time.Duration // a larger offset is a weakness

	run string // identifies the server's process
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
	saidWait     = "wait"
	saidSharded  = "sharded publish"

	saidYes, saidNo = "yes", "no"
)

var (
	informed   = []string{saidVersion, saidMode, saidRole, saidReplicas, saidMemory, saidPolicy} // by INFO
	configured = []string{saidAOF, saidFsync, saidSave, saidInSync}                              // by CONFIG GET
)

// askServer asks one server, in two round trips: a command that is refused costs its own answer only. The
// error says why the server is silent.
func askServer(ctx context.Context, client redis.UniversalClient, node string, cluster bool) (Facts, error) {
	f := Facts{Node: node, Cluster: cluster, Said: make(map[string]string)}
	pipe := client.Pipeline()
	info := pipe.Info(ctx)
	config := make(map[string]*redis.MapStringStringCmd)
	for _, name := range configured { // one by one: several at once need Redis 7
		config[name] = pipe.ConfigGet(ctx, name)
	}
	shards := pipe.Do(ctx, "PUBSUB", "SHARDNUMSUB")
	wait := pipe.Do(ctx, "WAIT", 0, 0)
	_, err := pipe.Exec(ctx) // each command has its own error
	if err != nil && !replied(info.Err()) {
		return silentFacts(node, cluster, info.Err()), info.Err()
	}
	f.heardInfo(info)
	f.heardConfig(config)
	f.heardSharded(shards.Err())
	if f.missed(wait.Err(), saidWait) {
		f.Said[saidWait] = saidYes
	}
	f.askTime(ctx, client)
	return f, nil
}

func (f *Facts) heardInfo(info *redis.StringCmd) {
	said := make(map[string]string)
	for line := range strings.Lines(info.Val()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			said[name] = value
		}
	}
	f.take(said, informed, "INFO", info.Err())
	f.run = said["run_id"]
	if aof, told := said["aof_enabled"]; told { // for where CONFIG is refused
		f.Said[saidAOF] = saidNo
		if aof == "1" {
			f.Said[saidAOF] = saidYes
		}
	}
	if port, told := said["tcp_port"]; told && f.Node == sentinelsMaster {
		f.Node += ", port " + port
	}
}

func (f *Facts) heardConfig(config map[string]*redis.MapStringStringCmd) {
	said := make(map[string]string)
	var refusal error
	for _, name := range configured {
		maps.Copy(said, config[name].Val())
		if err := config[name].Err(); err != nil {
			refusal = err
		}
	}
	f.take(said, configured, "CONFIG GET", refusal)
}

// take takes over the names that were told, and notes those that were not told by other means.
func (f *Facts) take(said map[string]string, names []string, command string, refusal error) {
	var missing []string
	for _, name := range names {
		if value, told := said[name]; told {
			f.Said[name] = value
		} else if _, known := f.Said[name]; !known {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	why := command + " does not tell it"
	if refusal != nil {
		why = command + " could not be asked: " + short(refusal)
	}
	f.Unknown = append(f.Unknown, Unknown{What: strings.Join(missing, ", "), Why: why})
}

// heardSharded takes a refusal for a no, as Redisson does, but says so where the user is what is refused.
func (f *Facts) heardSharded(err error) {
	switch {
	case err == nil:
		f.Said[saidSharded] = saidYes
	case redis.HasErrorPrefix(err, "NOPERM") || !replied(err):
		f.missed(err, saidSharded)
	default:
		f.Said[saidSharded] = saidNo
	}
}

// askTime compares the clocks. The server looked at its own between question and answer, so half of
// the round trip bounds the error.
func (f *Facts) askTime(ctx context.Context, client redis.UniversalClient) {
	asked := time.Now()
	at, err := client.Time(ctx).Result()
	trip := time.Since(asked)
	if f.missed(err, "clock") {
		f.ClockOffset, f.RoundTrip = at.Sub(asked.Add(trip/2)), trip
	}
}

// missed notes what was not told, and reports whether it was told.
func (f *Facts) missed(err error, what string) (told bool) {
	if err != nil {
		f.Unknown = append(f.Unknown, Unknown{What: what, Why: "it could not be asked: " + short(err)})
	}
	return err == nil
}

// silentFacts are those of a server that answers nothing.
func silentFacts(node string, cluster bool, err error) Facts {
	return Facts{Node: node, Cluster: cluster, Unknown: []Unknown{{What: "everything", Why: "it gives no answer: " + short(err)}}}
}

// answered reports whether the server answered anything at all.
func (f Facts) answered() bool { return f.Said != nil }

// replied reports whether err, if any, is the answer of a server.
func replied(err error) bool {
	var reply redis.Error
	return err == nil || errors.As(err, &reply)
}

// short is err without the arguments that Redis repeats in it, which differ for each command.
func short(err error) string {
	text, _, _ := strings.Cut(err.Error(), ", with args beginning")
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}

// sentinelsMaster stands for a host:port: go-redis does not say which server the sentinels named.
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
