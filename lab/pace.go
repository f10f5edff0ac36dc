package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/lab/servers"
)

// Pace is the time that this machine takes for its work, as a multiple of two quiet processors. A slow or a busy machine has more than 1.
// It is the one value by which all leases and timeouts of trials follow the machine: see [Trial.Scaled].
//
// What is NOT guaranteed: it is measured once, before the trials. A machine that becomes busier later may be too slow for them.
type Pace float64

const (
	quietStart = 100 * time.Millisecond // that startServers takes on two quiet processors
	slowest    = Pace(5)                // longer waits would take longer than the experiments are worth
	rounds     = 3
)

// MeasurePace starts servers in three rounds, and takes the slowest round.
func MeasurePace(ctx context.Context) (Pace, error) {
	longest := time.Duration(0)
	for range rounds {
		took, err := startServers(ctx)
		if err != nil {
			return 1, fmt.Errorf("measure how fast this machine is: %w", err)
		}
		longest = max(longest, took)
	}
	return paceOf(longest), nil
}

func paceOf(took time.Duration) Pace {
	pace := Pace(math.Round(10*took.Seconds()/quietStart.Seconds()) / 10)
	return min(max(pace, 1), slowest)
}

// startServers is how long it takes until four servers answer that are started simultaneously, as by four trials. It needs no other
// program.
func startServers(ctx context.Context) (took time.Duration, err error) {
	s, err := servers.New()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range 4 {
		group.Go(func() error {
			_, err := s.Redis(ctx, fmt.Sprintf("pace-%d", i+1), false)
			return err
		})
	}
	err = group.Wait()
	return time.Since(began), err
}

// String says what follows from the pace.
func (p Pace) String() string {
	if p <= 1 {
		return "this machine is as fast as a quiet one"
	}
	return fmt.Sprintf("the machine was %.1f times slower than a quiet one, so leases and timeouts were made that much longer", float64(p))
}

// Scaled is a lease, a timeout or a wait on this machine, which is d on a quiet one. Durations that are compared with each other are
// all scaled, so that each stays shorter or longer than another as the fault requires.
func (t *Trial) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(max(t.pace, 1)) * float64(d))
}
