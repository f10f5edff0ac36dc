package pageviews

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/servers"
	"locklab/pview"
	"locklab/topology"
)

// readMaster is Redisson's readMode that asks no replica.
const readMaster = "MASTER"

// The versions of Redisson. To run another one, build it (examples/articles/README.md) and name it here in the place of one of these.
const (
	redissonA4 = servers.RedissonA4
	redisson   = servers.Redisson
)

// jvms is two JVMs with A4's listings, over real Redisson.
type jvms struct {
	version  string // of the listing: v3, or v4, which has RedLock on five nodes more
	redisson string // its version
	over     topology.Kind
	lock     string // its name; empty: that of ours
	readMode string // of Redisson; empty: its default
	lost     bool   // a replica has lost its master
}

func a4(version, redisson, with string, expect lab.Expect, j jvms) lab.Variant {
	j.version, j.redisson = version, redisson
	return lab.Variant{
		Name:   "A4's " + version + ", Redisson " + redisson + ", " + with,
		Expect: expect, Fault: true, Slow: true, Needs: []lab.Need{lab.ArticlesJava}, Run: j.views,
	}
}

func (j jvms) views(ctx context.Context, t *lab.Trial) {
	x := startReplicated(ctx, t, j.over, j.readMode != readMaster)
	args := []string{cmp.Or(j.lock, pview.LockKey), string(j.over), cmp.Or(j.readMode, "default"), strings.Join(x.Addrs, ",")}
	if j.version == "v4" {
		nodes, err := t.Stack.RedLock(ctx, 5, t.Real)
		t.Must(err)
		args = append(args, strings.Join(servers.Addrs(nodes), ","))
	}
	names := []string{"A4-8080", "A4-8090"}
	instances := make([]*servers.Instance, len(names))
	t.GoEach(len(names), func(i int) {
		argv, err := servers.ArticlesCommand(j.redisson, "PageViews", append([]string{names[i]}, args...)...)
		t.Must(err)
		instances[i], err = t.Stack.Instance(ctx, names[i], argv...)
		t.Must(err)
	})()
	if j.lost {
		x.loseMaster(ctx, x.replicas[0])
	}
	x.views(ctx, j.version, instances...)
}

// loseMaster makes a replica look for its master where nobody listens. It goes on to answer reads, as Redis does by default.
func (x replicated) loseMaster(ctx context.Context, replica *servers.Node) {
	nobody, err := x.Stack.FreeAddrs(1)
	x.Must(err)
	_, port, _ := strings.Cut(nobody[0], ":")
	x.Must(replica.WithClient(func(c *redis.Client) error { return c.ReplicaOf(ctx, "127.0.0.1", port).Err() }))
	link, err := replica.Info(ctx, "replication", "master_link_status")
	x.Must(err)
	x.Must(x.master.Await(ctx, func(ctx context.Context) error {
		connected, err := x.master.Number(ctx, "replication", "connected_slaves")
		if err == nil && int(connected) != len(x.replicas)-1 {
			err = errors.New("it still counts " + strconv.FormatInt(connected, 10) + " replicas")
		}
		return err
	}))
	var answer string
	x.Must(replica.WithClient(func(c *redis.Client) (err error) { answer, err = c.Get(ctx, pview.Key).Result(); return err }))
	x.Fault(replica.Name, "it has lost its master", "master_link_status:"+link+", and it answers GET "+pview.Key+" with "+answer)
}
