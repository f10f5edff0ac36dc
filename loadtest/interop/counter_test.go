package interop_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"locklab/lockstrategy"
)

const (
	threads = 4              // of each process
	share   = 250            // of each of four processes: 1000 increments at least
	limit   = 20 * 4 * share // whoever has not had his share by then starves
	bound   = 1000
)

// counted lets two JVMs and two of our processes increment one counter until each has had its share.
// Ours lock by the strategy called ourLock.
func (b *bench) counted(ctx context.Context, t *testing.T, ourLock string, share int) (history, int64) {
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
		return p.increment(ctx, thread, b.kind, ourLock, key, counter, share)
	})
	h := history{wrote: make(map[string][]int64), begun: b.read(ctx, t, counter)}
	together(func(p *peer) error {
		_, err := p.do(ctx, thread, "share", b.kind)
		return err
	})
	h.ended = b.read(ctx, t, counter)
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
func (p *peer) increment(ctx context.Context, thread, kind, ourLock, key, counter string, share int) error {
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

func (b *bench) counts(ctx context.Context, t *testing.T) {
	h, last := b.counted(ctx, t, lockstrategy.NameRedis, share)
	var said []string
	for process, wrote := range h.wrote {
		said = append(said, fmt.Sprintf("%s %d grants, waited for %d at most", process, len(wrote), h.longest(process)))
	}
	t.Logf("%d increments: %s", last, strings.Join(said, "; "))
	if err := h.lost(last); err != nil {
		t.Error(err)
	}
	if err := h.starved(share, bound); err != nil {
		t.Error(err)
	}
}

// The check can fail: when ours take no lock, updates are lost, although the JVMs lock.
func (b *bench) losesWithoutLock(ctx context.Context, t *testing.T) {
	h, last := b.counted(ctx, t, lockstrategy.NameNone, share)
	if h.lost(last) == nil {
		t.Error("ours took no lock, and no update was lost: this counter proves nothing")
	}
}
