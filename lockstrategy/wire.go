package lockstrategy

import (
	_ "embed" // the scripts
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The scripts of the Redis lock.
var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed renew.lua
	renewSource string
	//go:embed release.lua
	releaseSource string
)

// tokenKey names the counter of a lock's fencing tokens.
func tokenKey(key string) string { return prefixed("locklab_fence", key) }

// channelOf names the channel on which the release of key is published.
func channelOf(key string) string { return prefixed("redisson_lock__channel", key) }

// prefixed names what belongs to key so that it lies in key's cluster slot, as Redisson does.
func prefixed(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}

// checkKey refuses keys whose counter and channel would lie in another slot, and Redisson's too.
func checkKey(key string) error {
	if key == "" {
		return errors.New("a lock needs a name")
	}
	if _, tag, braced := strings.Cut(key, "{"); braced && strings.Index(tag, "}") < 1 {
		return fmt.Errorf("%q has an opening brace without a {tag}: its token counter and channel would lie in another slot of a cluster", key)
	}
	return nil
}

// unavailable says that a request got no usable answer.
func unavailable(what, key string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %s: %s is no lock of this kind, but perhaps another library's, or its token counter %s is no number: "+
			"delete what is wrong: %w", ErrUnavailable, what, key, tokenKey(key), err)
	}
	source := map[string]string{"acquire": acquireSource, "renew": renewSource, "release": releaseSource}[what]
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, named(source, err))
}

// mayHaveRun reports whether a request that failed with err may have been executed: it was sent, and not refused.
func mayHaveRun(err error) bool {
	var refused redis.Error
	var network *net.OpError
	notSent := errors.As(err, &network) && network.Op == "dial" || errors.Is(err, errHanging)
	return err != nil && !notSent && !errors.As(err, &refused)
}
