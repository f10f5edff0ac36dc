package clients

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/explore/wire"
	"locklab/lockstrategy/articlelock"
)

// DeadHolder lets A die after its first command, and B try a lease later.
const DeadHolder = "A A† … B B B B"

// ExpiredDuringWork lets A take the lock and read. It writes and releases when its lease has ended, and B has written.
const ExpiredDuringWork = "A A … B B B B A A"

// Interleaving moves the clients of a lock on one Redis, as moves say: see [explore.Parse]. A move of a client that has
// ended is left out. So one list serves a lock that lets a client in and one that refuses it.
func Interleaving(lock articlelock.Lock, moves string) lab.Scenario {
	return OnRedis(func(ctx context.Context, x *Redis) {
		MoveClients(ctx, x.Trial, wire.Redis{Client: x.Conn}, lock, moves)
	})
}

// MoveClients is Interleaving on a server.
func MoveClients(ctx context.Context, t *lab.Trial, server explore.Server, lock articlelock.Lock, moves string) {
	list := explore.Moves(moves)
	w := explore.New(lock, server, LongLease, explore.Names(list), t.Record)
	play(ctx, t, w, list)
	t.Must(w.End(ctx))
}

// play does the moves that are possible.
func play(ctx context.Context, t *lab.Trial, w *explore.World, moves []explore.Move) {
	for _, m := range moves {
		if w.Can(m) {
			t.Must(w.Move(ctx, m))
		}
	}
}

// naiveRows are the articles' locks that have a row in the matrix.
var naiveRows = []struct {
	row  string
	lock articlelock.Lock
}{{"naive SETNX", articlelock.SETNX}, {"SET NX PX", articlelock.Compare}, {"SET NX PX, DEL", articlelock.PlainDEL}}

// NaiveVariants are variants of the articles' locks with these rows in the matrix, or of all three, under a fault that violates them. One
// trial is enough: the moves are forced.
func NaiveVariants(name string, run func(articlelock.Lock) lab.Scenario, rows ...string) (all []lab.Variant) {
	for _, n := range naiveRows {
		if len(rows) == 0 || slices.Contains(rows, n.row) {
			all = append(all, lab.Variant{
				Name: name + ": " + n.row, Expect: lab.Sometimes, Strategy: n.row, Fault: true, Trials: 1, Run: run(n.lock),
			})
		}
	}
	return all
}

// LostAfter is ExpiredDuringWork without a lease that ends: something happens to the only Redis instead.
func LostAfter(fault Fault) func(articlelock.Lock) lab.Scenario {
	return func(lock articlelock.Lock) lab.Scenario {
		return OnRedis(func(ctx context.Context, x *Redis) {
			LoseDuringWork(ctx, x.Trial, lock, x.Conn, func() redis.UniversalClient {
				fault(ctx, x.Trial, x.Node)
				return x.Conn
			})
		})
	}
}

// LoseDuringWork lets A take the lock and read. After the fault, both use the connection that it returns. Nothing is in the counter
// before the fault, so only the lock can be lost.
func LoseDuringWork(
	ctx context.Context, t *lab.Trial, lock articlelock.Lock, conn redis.UniversalClient, fault func() redis.UniversalClient,
) {
	server := &wire.Redis{Client: conn}
	w := explore.New(lock, server, LongLease, "AB", t.Record)
	play(ctx, t, w, explore.Moves("A A"))
	server.Client = fault()
	play(ctx, t, w, explore.Moves("B B B B A A"))
	t.Must(w.End(ctx))
}

// OrphanedLocks asks of every interleaving of locks whether a lock stays for ever. Only the last of the locks leaves one.
func OrphanedLocks(locks ...articlelock.Lock) (all []lab.Interleavings) {
	for _, lock := range locks {
		bounds := explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}
		all = append(all, lab.Interleavings{Lock: lock, Bounds: bounds, Violation: explore.OrphanedLock})
	}
	all[len(all)-1].Expect = lab.Sometimes
	return all
}

// EachCommand is a [redis.Hook] that is called in place of each command outside of pipelines. send sends the command.
type EachCommand func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error

// ProcessHook implements [redis.Hook].
func (e EachCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return e(ctx, cmd, next) }
}

// DialHook implements [redis.Hook].
func (EachCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (EachCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
