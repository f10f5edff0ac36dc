package ratelimit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Supplier is a stand-in for the supplier. It logs each call with the time of one clock, that of Redis, whichever instance made it.
type Supplier struct{ client redis.UniversalClient }

// NewSupplier returns a supplier whose log is in Redis.
func NewSupplier(client redis.UniversalClient) *Supplier { return &Supplier{client} }

// mostCalls bounds a log: older calls are forgotten.
const mostCalls = 100_000

func logKey(name string) string { return "supplier:" + name }

// Call logs one call in the log with a name.
func (s *Supplier) Call(ctx context.Context, name string) error {
	entry := redis.XAddArgs{Stream: logKey(name), MaxLen: mostCalls, Approx: true, Values: []string{"call", "1"}}
	return unanswered(s.client.XAdd(ctx, &entry).Err())
}

// Calls are the times of the calls of a log, the oldest first, in milliseconds of Redis' clock.
func (s *Supplier) Calls(ctx context.Context, name string) ([]time.Time, error) {
	entries, err := s.client.XRange(ctx, logKey(name), "-", "+").Result()
	times := make([]time.Time, len(entries))
	for i, e := range entries {
		text, _, _ := strings.Cut(e.ID, "-")
		ms, bad := strconv.ParseInt(text, 10, 64)
		times[i], err = time.UnixMilli(ms), errors.Join(err, bad)
	}
	return times, unanswered(err)
}

// Forget deletes a log.
func (s *Supplier) Forget(ctx context.Context, name string) error {
	return unanswered(s.client.Del(ctx, logKey(name)).Err())
}

// Worst finds the most calls that any window saw: from the call number from on, there were so many in less than a window. It is the
// judge of a limiter. A window that begins with a call is enough, because no other one has more.
func Worst(calls []time.Time, window time.Duration) (most, from int) {
	calls = slices.SortedFunc(slices.Values(calls), time.Time.Compare)
	first := 0
	for last, at := range calls {
		for at.Sub(calls[first]) >= window {
			first++
		}
		if n := last - first + 1; n > most {
			most, from = n, first
		}
	}
	return most, from
}
