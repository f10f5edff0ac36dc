package anatomy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/versions"
)

var L06 = Experiments.Add(lab.Experiment{
	ID:       "L06-watchdog-ends",
	Articles: lab.Articles{"A0", "A1", "A2"},
	Claim:    "Renewal ends when the holder's process dies, and when a bound on it is reached.",
	Level:    lab.Medium,
	Anomaly:  "orphaned lock",
	Schedule: lab.Schedule{Takes: 12 * time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(renewedAfterDeath)),
	Variants: []lab.Variant{
		{Name: "alive", Run: clients.InProcess(clients.Holding{Strategy: versions.NameRedis}, alive)},
		{Name: "killed", Strategy: "v3", Fault: true, Run: clients.InProcess(clients.Holding{Strategy: versions.NameRedis}, killedHolder)},
		{
			Name: "RedLock, killed", Strategy: "v4", Fault: true,
			Run: clients.InProcess(clients.Holding{Strategy: versions.NameRedLock}, killedHolder),
		},
		{
			Name: "bound reached", Expect: lab.Sometimes,
			Run: clients.InProcess(clients.Holding{Strategy: versions.NameRedis, Bounded: true}, boundedRenewal),
		},
	},
})

// renewedAfterDeath notes a lock whose end moves away although its holder is dead.
var renewedAfterDeath = history.Mark{Name: "its lock was renewed after its death, or has no end"}

func alive(ctx context.Context, x *clients.HolderProcess) {
	r := x.Resource
	value := r.Read(x.Holder)
	waitForB := x.Go(func() { x.B.Update(ctx, r) })
	time.Sleep(3 * x.Lease) // that is the work
	x.Write(ctx, value+1)
	x.Must(x.Holder.TryRelease(ctx))
	waitForB()
}

func killedHolder(ctx context.Context, x *clients.HolderProcess) {
	x.Write(ctx, x.Resource.Read(x.Holder)+1)
	x.A.Kill()
	for _, n := range x.Nodes {
		x.Must(endsInTime(ctx, x, n))
	}
	x.B.Update(ctx, x.Resource)
}

// endsInTime watches the lock of a dead holder on a node until it is gone. By the server's own clock it has a lease left at
// most, and never more than before.
func endsInTime(ctx context.Context, x *clients.HolderProcess, n *servers.Node) error {
	left := x.Lease
	return n.WithClient(func(c *redis.Client) error {
		return n.Await(ctx, func(ctx context.Context) error {
			now, err := c.PTTL(ctx, x.Key).Result()
			switch {
			case err != nil:
				return err
			case now == -2: // there is no such key
				return nil
			case now < 0 || now > left:
				x.Holder.Mark(renewedAfterDeath)
				return errors.Join(c.Del(ctx, x.Key).Err(), fmt.Errorf("%s has %s", x.Key, now))
			}
			left = now
			return fmt.Errorf("%s has %s", x.Key, now)
		})
	})
}

func boundedRenewal(ctx context.Context, x *clients.HolderProcess) {
	value := x.Resource.Read(x.Holder)
	x.B.Update(ctx, x.Resource) // when A's bound is reached
	x.AwaitLoss(ctx)
	x.Resource.Write(x.Holder, value+1)
}
