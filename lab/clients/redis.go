package clients

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/topology"
	"locklab/versions"
)

// Redis is one Redis server.
type Redis struct {
	*lab.Trial
	Node *servers.Node
	Conn redis.UniversalClient
}

// StartRedis starts one Redis server and connects to it.
func StartRedis(ctx context.Context, t *lab.Trial) *Redis {
	servers, err := t.Stack.Topology(ctx, string(topology.Single), t.Real)
	t.Must(err)
	return &Redis{t, servers.Nodes[0], Connect(ctx, t, servers)}
}

// OnRedis runs a scenario on one Redis server.
func OnRedis(scenario func(ctx context.Context, x *Redis)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) { scenario(ctx, StartRedis(ctx, t)) }
}

// PassTime lets the keys of Redis live shorter, as if so much time had passed. It ends a moment.
func (x *Redis) PassTime(ctx context.Context, by time.Duration) {
	_, err := x.Stack.ClockAhead(ctx, x.Node, by)
	x.Must(err)
	x.EndMoment(by.String())
}

// EndMoment notes that so much time has passed.
func (x *Redis) EndMoment(by string) {
	x.Record(history.Event{Timeline: "Redis", Kind: history.Note, Name: history.TimePasses, Text: "time passes: " + by})
}

// NewClient returns a client of the Redis lock.
func (x *Redis) NewClient(name string, lease time.Duration) *Client {
	return RedisLock(x.Trial, name, x.Conn, lease)
}

// RedisLock returns a client of the Redis lock (v3) over a connection.
func RedisLock(t *lab.Trial, name string, conn redis.UniversalClient, lease time.Duration) *Client {
	return Open(t, name, versions.NameRedis, versions.Backends{Redis: conn, Expiry: lease})
}

// OneAttempt are options of a client that sends every command once. A server has five seconds for a reply, as go-redis gives it.
func OneAttempt(addr string) *redis.Options {
	return &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, ContextTimeoutEnabled: true}
}

// Dial returns a client that sends every command once. It is closed at the end of the trial.
func Dial(t *lab.Trial, addr string) *redis.Client {
	client := redis.NewClient(OneAttempt(addr))
	t.Cleanup(client.Close)
	t.Tap(client)
	return client
}

// OverWire is Dial over a proxy.
func OverWire(t *lab.Trial, addr string) (client *redis.Client, wire *servers.Proxy) {
	wire, err := t.Stack.Proxy("wire", addr)
	t.Must(err)
	return Dial(t, wire.Addr), wire
}

// Connect returns a connection to target as the app opens it. It is closed at the end of the trial.
func Connect(ctx context.Context, t *lab.Trial, target *servers.Topology) redis.UniversalClient {
	return t.Tap(OpenTopology(ctx, t, target).Master)
}

// OpenTopology is Connect for a client that also reads from replicas.
func OpenTopology(ctx context.Context, t *lab.Trial, target *servers.Topology) *topology.Redis {
	addrMap, err := topology.ParseAddrMap(target.Map)
	t.Must(err)
	opened, err := topology.Open(ctx, topology.Config{
		Kind: topology.Kind(target.Kind), Addrs: target.Addrs, SentinelMaster: servers.SentinelMaster,
		Access: topology.Access{Password: target.Password, Map: addrMap},
	})
	t.Must(err)
	t.Cleanup(opened.Close)
	return opened
}

// Requests asks a server how often clients have sent it one of some commands. Commands that scripts call are part of one request: they must
// not be among them.
func Requests(ctx context.Context, t *lab.Trial, conn redis.UniversalClient, sent ...string) (n int64) {
	info := conn.InfoMap(ctx, "commandstats")
	t.Must(info.Err())
	for _, command := range sent {
		var calls int64
		_, _ = fmt.Sscanf(info.Item("Commandstats", "cmdstat_"+command), "calls=%d,", &calls) // without an item there was none
		n += calls
	}
	return n
}
