package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/build"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// draw is a number of random changes in packages. Which they are depends on the seed and on the code alone.
type draw struct {
	seed     uint64
	n        int
	packages []string
	slack    time.Duration // a test with a change may take so much longer than four times its time without

	mu        sync.Mutex
	unchanged map[string]func() (time.Duration, error) // by package and whether -short
}

// changes lists all changes of the packages, in the order in which they are drawn.
func (d *draw) changes() (all []change, err error) {
	for _, pkg := range d.packages {
		p, err := build.ImportDir(pkg, 0)
		if err != nil {
			return nil, err
		}
		for _, file := range p.GoFiles {
			some, err := changes(pkg, filepath.Join(pkg, file))
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	rand.New(rand.NewPCG(d.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, nil
}

// run draws n changes that compile, tests each, and writes the survivors and the share of those that a test has noticed.
func (d *draw) run(ctx context.Context, out io.Writer) error {
	began := time.Now()
	d.unchanged = make(map[string]func() (time.Duration, error))
	all, err := d.changes()
	if err != nil {
		return err
	}
	tested, noticed, next := 0, 0, 0
	for tested < d.n && next < len(all) {
		some := all[next:min(next+d.n-tested, len(all))]
		next += len(some)
		results, err := d.test(ctx, out, some)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.verdict != notBuilt {
				tested++
			}
			if r.verdict == killed {
				noticed++
			}
		}
	}
	if tested == 0 {
		return fmt.Errorf("%s: there is nothing to change", strings.Join(d.packages, " "))
	}
	fmt.Fprintf(out, "seed %d: %d of %d changes were noticed, %d %%; %d more did not compile; %s\n",
		d.seed, noticed, tested, 100*noticed/tested, next-tested, time.Since(began).Round(time.Second))
	return nil
}

// test tries some changes, and writes what came of those that compile. Two run at the same time: more of them would disturb the tests.
func (d *draw) test(ctx context.Context, out io.Writer, some []change) ([]result, error) {
	results := make([]result, len(some))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i, c := range some {
		group.Go(func() (err error) {
			results[i], err = d.try(ctx, c)
			d.mu.Lock()
			defer d.mu.Unlock()
			if results[i].verdict != notBuilt && err == nil {
				results[i].print(out, fmt.Sprintf("%s:%d", c.file, c.line))
			}
			return err
		})
	}
	return results, group.Wait()
}

// try runs the package's short tests with the change, and all of its tests when those notice nothing.
func (d *draw) try(ctx context.Context, c change) (r result, err error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, err := os.ReadFile(c.file)
	if err != nil {
		return r, err
	}
	if err := overlay(dir, c.file, c.apply(string(source)), nil); err != nil {
		return r, err
	}
	for _, short := range []string{"-short", "-short=false"} {
		limit, err := d.limit(ctx, c.pkg, short)
		if err != nil {
			return r, err
		}
		r = goTest(ctx, c.pkg, short, "-timeout="+limit.String(), "-overlay="+filepath.Join(dir, overlayFile))
		if r.verdict != survived || ctx.Err() != nil { // a test that was interrupted has noticed nothing
			return r, ctx.Err()
		}
	}
	r.detail = fmt.Sprintf("before: %s\nafter:  %s\n", strings.TrimSpace(c.before), cmp.Or(strings.TrimSpace(c.after), "(nothing)"))
	return r, nil
}

// limit is how long the tests of a package may take with a change; then they hang, which is noticed. It is an error when they fail
// without a change, too.
func (d *draw) limit(ctx context.Context, pkg, short string) (time.Duration, error) {
	d.mu.Lock()
	took := d.unchanged[pkg+short]
	if took == nil {
		took = sync.OnceValues(func() (time.Duration, error) {
			r := goTest(ctx, pkg, short)
			if r.verdict != survived {
				return 0, fmt.Errorf("%s: its tests fail without a change: %s", pkg, r.detail)
			}
			return r.took, nil
		})
		d.unchanged[pkg+short] = took
	}
	d.mu.Unlock()
	unchanged, err := took()
	return d.slack + 4*unchanged, err
}
