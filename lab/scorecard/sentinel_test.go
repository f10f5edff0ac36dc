package scorecard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/scorecard"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// sentinelLock is a lock over Redis with Sentinel, as a company's wrapper has it: SET NX, and WAIT for a replica.
type sentinelLock struct {
	*redis.Client
	defect string // empty: none
	grants atomic.Int64
}

// sentinelLocks are the programs over Redis with Sentinel, by name: what is wrong with each.
var sentinelLocks = map[string]string{
	"waits": "", "ignores WAIT": "ignores WAIT", "a key for each master": "a key for each master", "renewal ends": "renewal ends",
}

func init() {
	for name, defect := range sentinelLocks {
		hostiles[name] = func() { serveSentinel(name, defect) }
	}
}

func serveSentinel(name, defect string) {
	claims := protocol.Claims{Name: name, Store: protocol.Sentinel, Replica: true, Renews: defect == "renewal ends"}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		l := &sentinelLock{defect: defect, Client: redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: servers.SentinelMaster, SentinelAddrs: start.Servers, MaxRetries: -1, DisableIdentity: true,
		})}
		return l.acquire, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (l *sentinelLock) acquire(_ context.Context, r protocol.Request) (protocol.Held, error) {
	owner := fmt.Sprintf("%d-%d", os.Getpid(), l.grants.Add(1))
	for asked := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		token, err := l.try(r, owner)
		switch {
		case err != nil:
			return protocol.Held{}, err
		case token > 0:
			return protocol.Held{Release: func(ctx context.Context) error { return l.release(ctx, r.Key, owner) }}, nil
		case time.Since(asked) >= r.Wait():
			return protocol.Held{}, protocol.ErrRefused
		}
	}
}

// try grants the key when a replica has it, too. WAIT speaks of the writes of its own connection.
func (l *sentinelLock) try(r protocol.Request, owner string) (token uint64, err error) {
	const within = 200 * time.Millisecond
	ctx, own := context.Background(), l.Conn()
	defer own.Close()
	if l.defect == "a key for each master" {
		r.Key += own.InfoMap(ctx, "server").Item("Server", "run_id")
	}
	token, err = grantScript.Run(ctx, own, []string{r.Key}, owner, r.LeaseMS).Uint64()
	if err != nil || token == 0 {
		return 0, err
	}
	confirmed, err := own.Wait(ctx, 1, within).Result()
	if err == nil && confirmed > 0 || l.defect == "ignores WAIT" {
		return token, nil
	}
	_, failed := freeScript.Run(ctx, own, []string{r.Key}, owner).Int()
	return 0, errors.Join(err, failed)
}

func (l *sentinelLock) release(ctx context.Context, key, owner string) error {
	if l.defect == "a key for each master" {
		key += l.InfoMap(ctx, "server").Item("Server", "run_id")
	}
	freed, err := freeScript.Run(ctx, l, []string{key}, owner).Int()
	if err == nil && freed == 0 {
		err = protocol.ErrNotHeld
	}
	return err
}

// Locks without a defect hold over Redis with failover: a lock is there after its master was replaced, and one that no replica has is
// not granted.
func TestSoundLocksHoldOverFailover(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	for program, rows := range map[string][]string{
		"ours " + protocol.Sentinel: {"T03", "T06", "T25"}, "ours " + protocol.Cluster: {"T03", "T06"}, "waits": {"T25", "T26"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			for _, row := range triedTwice(t, program, rows...).Rows {
				if row.State != scorecard.Holds {
					t.Errorf("%s is %s: %s", row.ID, row.State, row.Why)
				}
			}
		})
	}
}

// A lock that does not survive the death of its master is violated, and so is one that is granted although no replica has it.
func TestDefectsOverSentinel(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	for defect, row := range map[string]string{"ignores WAIT": "T26", "a key for each master": "T25", "renewal ends": "T25"} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			if card := triedTwice(t, defect, row); card.Rows[0].State != scorecard.Violated {
				t.Errorf("the defect is not noticed: %v", states(card))
			}
		})
	}
}

// Clients of sentinels and of a cluster bypass the lab's proxies, so no row is tried that breaks or counts connections. A row of other
// faults keeps those.
func TestRowsWithoutProxies(t *testing.T) {
	t.Parallel()
	connections := []string{"T07", "T08", "T09", "T10", "T11", "T15", "T20", "T23"} // and T11, which restarts the servers
	for _, store := range []string{protocol.Redis, protocol.Sentinel, protocol.Cluster} {
		p := scorecard.Program{Claims: protocol.Claims{
			Store: store, Renews: true, Tokens: true, Tells: true, Extends: true, Messages: true, Replica: true,
		}}
		tried := make(map[string]int) // the variants
		for _, e := range p.Experiments(scorecard.Rows()) {
			tried[lab.Number(e.ID)] = len(e.Variants)
		}
		for _, number := range connections {
			if (tried[number] > 0) != (store == protocol.Redis) {
				t.Errorf("%s: %s has %d variants", store, number, tried[number])
			}
		}
		for _, number := range []string{"T25", "T26"} {
			if (tried[number] > 0) != (store == protocol.Sentinel) {
				t.Errorf("%s: %s has %d variants", store, number, tried[number])
			}
		}
		want := map[string]int{protocol.Redis: 3, protocol.Sentinel: 2, protocol.Cluster: 2}[store]
		if tried["T06"] != want {
			t.Errorf("%s: T06 has %d variants, want %d", store, tried["T06"], want)
		}
	}
}

// A row that a store rules out says so, and not that the program claims too little.
func TestARowWithoutProxiesSaysWhy(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	card := tried(t, "ours "+protocol.Sentinel, 1, "T07", "T16")
	if !slices.Equal(states(card), []string{
		"T07 not claimed: the lab cannot break single connections on this store", "T16 not claimed: the program does not claim `store redlock`",
	}) {
		t.Error(strings.Join(states(card), "\n"))
	}
}

// The stores with failover are among those that the error of an unknown store lists.
func TestTheStoresWithFailoverAreListed(t *testing.T) {
	t.Parallel()
	_, err := scorecard.Ask(t.Context(), []string{"/usr/bin/env", asProgram + "=consul", os.Args[0]})
	if says := ", sentinel, cluster"; err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v does not say %q", err, says)
	}
}
