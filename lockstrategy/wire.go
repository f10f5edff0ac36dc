package lockstrategy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed renew.lua
	renewSource string
	//go:embed free.lua
	freeSource string
	//go:embed release.lua
	releaseSource string
	//go:embed leave.lua
	leaveSource string
	//go:embed force.lua
	forceSource string
)

// scripts are what a [Redis] says to its server. Each replies with a list of integers.
type scripts struct{ acquire, renew, release, leave, force *redis.Script }

func newScripts() scripts {
	return scripts{
		acquire: redis.NewScript(acquireSource),
		renew:   redis.NewScript(renewSource),
		release: redis.NewScript(freeSource + releaseSource),
		leave:   redis.NewScript(freeSource + leaveSource),
		force:   redis.NewScript(freeSource + forceSource),
	}
}

// run executes script within the time for one request.
func (r *Redis) run(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.request)
	defer cancel()
	reply, err := script.Run(ctx, r.client, keys, args...).Int64Slice()
	switch {
	case err == nil && len(reply) == 0:
		return nil, errors.New("an empty answer")
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return nil, fmt.Errorf("%s holds something else than a lock of this kind, another library's perhaps: %w", keys[0], err)
	}
	return reply, err
}

// free executes a script that may free the lock: what they have in common stands first, and then args.
func (r *Redis) free(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]int64, error) {
	common := []any{r.tells.command(), r.news.hearing(keys[len(keys)-1]), calledFor.Milliseconds(), strangersFor.Milliseconds()}
	return r.run(ctx, script, keys, append(common, args...)...)
}

// keysOf names what belongs to a lock, in the order in which every script takes it: the lock, the fence
// counter, the queue, the turn, and the channel. All of it lies in the lock's cluster slot.
func keysOf(key string) []string {
	return []string{key, prefixed("locklab_fence", key), prefixed("locklab_queue", key), prefixed("locklab_turn", key), channelOf(key)}
}

// channelOf names the channel on which the release of key is told.
func channelOf(key string) string { return prefixed("redisson_lock__channel", key) }

// prefixed names what belongs to key so that it lands in key's cluster slot, as Redisson does.
func prefixed(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}

// checkKey refuses keys whose companions would lie in another slot, and Redisson's too.
func checkKey(key string) error {
	if key == "" {
		return errors.New("a lock needs a name")
	}
	if _, tag, braced := strings.Cut(key, "{"); braced && strings.Index(tag, "}") < 1 {
		return fmt.Errorf("%q has an opening brace without a {tag}: its companions would lie in another slot of a cluster", key)
	}
	return nil
}

// owner is what stands in the lock, in Redisson's form.
func (r *Redis) owner(attempt uint64) string {
	return r.process + ":" + strconv.FormatUint(attempt, 10)
}

// processNumber is id as a number that is none of Redisson's messages.
func processNumber(id uuid.UUID) string {
	n := uint64(1)
	for _, b := range id[:6] {
		n = n<<8 | uint64(b)
	}
	return strconv.FormatUint(n, 10)
}

// tells is by which command releases are told. In a cluster of Redis 7 channels are sharded, as Redisson has it
// since 3.22: a message on a sharded channel is not heard on a plain one of the same name.
type tells struct{ known atomic.Int32 }

const (
	plain   = 1
	sharded = 2
)

func (t *tells) settle(what int32) { t.known.Store(what) }

func (t *tells) sharded() bool { return t.known.Load() == sharded }

func (t *tells) command() string {
	if t.sharded() {
		return "spublish"
	}
	return "publish"
}

// learnTells asks a cluster once whether it knows sharded channels.
func (r *Redis) learnTells(ctx context.Context) error {
	if r.tells.known.Load() != 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.request)
	defer cancel()
	err := r.client.PubSubShardNumSub(ctx, "any").Err()
	switch {
	case err == nil:
		r.tells.settle(sharded)
	case answered(err) && strings.Contains(strings.ToLower(err.Error()), "unknown subcommand"): // older than Redis 7
		r.tells.settle(plain)
	default:
		return fmt.Errorf("does it know sharded channels: %w", err)
	}
	return nil
}

// answered reports whether err is a server's own word: then it has not done what it was asked.
func answered(err error) bool {
	var refused redis.Error
	return errors.As(err, &refused)
}

// unsent reports whether the last attempt of a request has surely not reached its server: there was no connection.
func unsent(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op == "dial"
}

// uncertain reports whether a request that failed with err may have been executed.
func (r *Redis) uncertain(err error) bool { return !answered(err) && (r.repeats || !unsent(err)) }
