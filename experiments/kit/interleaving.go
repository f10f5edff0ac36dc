package kit

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

// DeadHolder lets A die after its first command, and B try a lease later.
const DeadHolder = "A A† … B B B B"

// ExpiredDuringWork lets A take the lock and read. It writes and releases when its lease has ended, and B has written.
const ExpiredDuringWork = "A A … B B B B A A"

// Interleaving moves the clients of a lock on one Redis, as moves say: see [steps.Parse]. A move of a client that has
// ended is left out. So one list serves a lock that lets a client in and one that refuses it.
func Interleaving(lock naive.Lock, moves string) experiments.Scenario {
	return OnRedis(func(ctx context.Context, x *Redis) {
		MoveClients(ctx, x.Trial, steps.Redis{UniversalClient: x.Conn}, lock, moves)
	})
}

// MoveClients is Interleaving on a server.
func MoveClients(ctx context.Context, t *experiments.Trial, server steps.Server, lock naive.Lock, moves string) {
	list := steps.Moves(moves)
	w := steps.New(lock, server, LongLease, steps.Names(list), t.Record)
	for _, c := range w.Clients {
		if expires(list, c.Name) {
			c.Lease = StepLease
		}
	}
	play(ctx, t, w, list)
	t.Must(w.End(ctx))
}

// play does the moves that are possible.
func play(ctx context.Context, t *experiments.Trial, w *steps.World, moves []steps.Move) {
	for _, m := range moves {
		if w.Can(m) {
			t.Must(w.Move(ctx, m))
		}
	}
}

// naiveRows are the articles' locks that have a row in the matrix, by its name.
var naiveRows = map[string]naive.Lock{"naive SETNX": naive.SETNX, "SET NX PX": naive.Compare, "SET NX PX, DEL": naive.PlainDEL}

// NaiveVariant is the variant of the naive lock with that row in the matrix, under a fault that violates it. It panics when there is no
// such row. One trial is enough: the moves are forced.
func NaiveVariant(name, row string, run func(naive.Lock) experiments.Scenario) experiments.Variant {
	lock, known := naiveRows[row]
	if !known {
		panic("no naive lock has the row " + row)
	}
	return experiments.Variant{
		Name: name + ": " + row, Expect: experiments.Sometimes, Strategy: row, Fault: true, Trials: 1, Run: run(lock),
	}
}

// LostAfter is ExpiredDuringWork without a lease that ends: something happens to the only Redis instead.
func LostAfter(fault Fault) func(naive.Lock) experiments.Scenario {
	return func(lock naive.Lock) experiments.Scenario {
		return OnRedis(func(ctx context.Context, x *Redis) {
			loseDuringWork(ctx, x.Trial, lock, x.Conn, func() redis.UniversalClient {
				fault(ctx, x.Trial, x.Node)
				return x.Conn
			})
		})
	}
}

// LostAtFailover is the same when the master is killed before it has replicated the lock.
func LostAtFailover(lock naive.Lock) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x := MasterSlave(ctx, t)
		x.CutReplication(ctx, x.Replicas...)
		loseDuringWork(ctx, t, lock, Connect(ctx, t, x.Servers.At(x.Master.AnnouncedAddr())), func() redis.UniversalClient {
			x.FailOver(ctx)
			return Connect(ctx, t, x.Servers)
		})
	}
}

// loseDuringWork lets A take the lock and read. After the fault, both use the connection that it returns. Nothing is in the counter
// before the fault, so only the lock can be lost.
func loseDuringWork(
	ctx context.Context, t *experiments.Trial, lock naive.Lock, conn redis.UniversalClient, fault func() redis.UniversalClient,
) {
	server := &steps.Redis{UniversalClient: conn}
	w := steps.New(lock, server, LongLease, "AB", t.Record)
	play(ctx, t, w, steps.Moves("A A"))
	server.UniversalClient = fault()
	play(ctx, t, w, steps.Moves("B B B B A A"))
	t.Must(w.End(ctx))
}

// expires reports whether time passes in moves after the first move of a client.
func expires(moves []steps.Move, client string) bool {
	begins := slices.IndexFunc(moves, func(m steps.Move) bool { return m.Client == client })
	return slices.Contains(moves[begins:], steps.Move{})
}

// OrphanedLocks asks of every interleaving of locks whether a lock stays for ever. Only the last of the locks leaves one.
func OrphanedLocks(locks ...naive.Lock) (all []experiments.Interleavings) {
	for _, lock := range locks {
		bounds := steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}
		all = append(all, experiments.Interleavings{Lock: lock, Bounds: bounds, Violation: steps.OrphanedLock})
	}
	all[len(all)-1].Expect = experiments.Sometimes
	return all
}
