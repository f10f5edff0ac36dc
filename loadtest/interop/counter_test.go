package interop_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"locklab/lab/testenv"
	"locklab/versions"
)

const (
	threads = 4   // of each process
	share   = 20  // fewest grants of each process; ours have far more, because they hand leases off
	total   = 666 // fewest increments of all together

	// When the lock is released, one of four processes gets it. With equal chances a process that waits is passed over 64
	// times in a row once in 100 million times (3/4 to the 64th power). Each time costs it up to 128 grants: so many leases
	// a process of ours may hand off. A process that waits longer starves.
	bound = 64 * 128
	limit = 5 * bound // where the count stops: by then all have had their share, or one of them starves
)

// counted lets two JVMs and two of our processes increment one counter until each has had its share.
// Ours lock by the strategy called ourLock.
func (b *bench) counted(ctx context.Context, t *testing.T, ourLock string) (history, int64) {
	t.Helper()
	key := b.key(t)
	counter := key + ":counter"
	all := append(b.theirs[:], b.ours[:]...)
	together := func(what func(p *peer) error) {
		t.Helper()
		var group errgroup.Group
		for _, p := range all {
			group.Go(func() error { return what(p) })
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
	thread := t.Name()
	together(func(p *peer) error {
		return p.increment(ctx, thread, b.kind, ourLock, key, counter)
	})
	h := history{wrote: make(map[string][]int64), begun: b.read(ctx, t, counter)}
	together(func(p *peer) error {
		_, err := p.do(ctx, thread, "share", b.kind)
		return err
	})
	testenv.Eventually(t, "they have counted far enough", func() bool {
		h.ended = b.read(ctx, t, counter)
		return t.Failed() || h.ended >= total
	})
	answers := make(map[string]*string)
	for _, p := range all {
		answers[p.name] = new(string)
	}
	together(func(p *peer) (err error) {
		*answers[p.name], err = p.do(ctx, thread, "enough", b.kind)
		return err
	})
	for name, answer := range answers {
		h.wrote[name] = numbers(t, *answer)
	}
	return h, b.read(ctx, t, counter)
}

// increment starts a process's threads.
func (p *peer) increment(ctx context.Context, thread, kind, ourLock, key, counter string) error {
	words := []string{"increment", kind}
	if p.isOurs {
		words = append(words, ourLock)
	}
	_, err := p.do(ctx, thread, append(words, key, counter, strconv.Itoa(threads), strconv.Itoa(share), strconv.Itoa(limit))...)
	return err
}

func numbers(t *testing.T, words string) []int64 {
	t.Helper()
	var all []int64
	for _, word := range strings.Fields(words) {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, number)
	}
	return all
}

// counts: nothing is lost and nobody starves.
func (b *bench) counts(ctx context.Context, t *testing.T) {
	h, last := b.counted(ctx, t, versions.NameRedis)
	var said []string
	for _, process := range slices.Sorted(maps.Keys(h.wrote)) {
		said = append(said, fmt.Sprintf("%s had %d and waited for %d", process, len(h.wrote[process]), h.longest(process)))
	}
	t.Logf("%d grants: %s", last, strings.Join(said, "; "))
	if err := h.lost(last); err != nil {
		t.Error(err)
	}
	if err := h.starved(share, bound); err != nil {
		t.Error(err)
	}
}

// The check can fail: when ours take no lock, updates are lost, although the JVMs lock.
func (b *bench) losesWithoutLock(ctx context.Context, t *testing.T) {
	h, last := b.counted(ctx, t, versions.NameNone)
	if h.lost(last) == nil {
		t.Error("ours took no lock, and no update was lost: this counter proves nothing")
	}
}
