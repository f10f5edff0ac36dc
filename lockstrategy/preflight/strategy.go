package preflight

import (
	"context"
	"errors"
	"time"

	"locklab/lockstrategy"
)

// strategyLease is the lease of a probe, in whole seconds: some servers count in these.
const strategyLease = 2 * time.Second

// Strategy asks a lock of any kind, for the instance with a name: it acquires the instance's own key and releases it. where names the
// servers. A key that is held is as good as one that is granted: it is left over from a probe, and the server answers. It takes as long
// as the strategy waits for two answers.
//
// What is NOT asked: how the servers are set up, and what weakens the lock there.
func Strategy(s lockstrategy.Strategy, where, name string) Check {
	return func(ctx context.Context) (Report, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		r := Report{Weaknesses: []Weakness{}, Unknown: []Unknown{}}
		said := "grants a lock"
		if step, err := tryStrategy(ctx, s, probeKey(name)); err != nil {
			said = "does not " + string(step) + " a lock"
			r.Weaknesses = append(r.Weaknesses, Weakness{
				Where: []string{where}, What: "it " + said, Why: consequences[step], Remedy: "mend what its reply says: " + short(err),
				Grave: true, Refuses: true,
			})
		}
		r.Taken, r.Servers = time.Now(), []Facts{{Node: where, Said: map[string]string{"probe": said}}}
		return r, nil
	}
}

// tryStrategy returns the step that failed, and why.
func tryStrategy(ctx context.Context, s lockstrategy.Strategy, key string) (lockstrategy.Step, error) {
	lease, err := s.Acquire(ctx, key, lockstrategy.TryOnce(), lockstrategy.LeaseFor(strategyLease))
	switch {
	case errors.Is(err, lockstrategy.ErrTaken):
		return "", nil
	case err != nil:
		return lockstrategy.Acquire, err
	}
	if err := lease.Release(ctx); err != nil && !errors.Is(err, lockstrategy.ErrLost) { // somebody has deleted the key
		return lockstrategy.Release, err
	}
	return "", nil
}
