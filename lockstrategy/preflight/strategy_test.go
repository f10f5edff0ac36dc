package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
	"locklab/lockstrategy/session"
	"locklab/versions"
)

// sqliteLock is a lock over a server that can be closed.
func sqliteLock(t *testing.T) (lock *versions.Opened, db *gorm.DB) {
	t.Helper()
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "locks.db")), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	lock, err = versions.Open(versions.NameDatabase, versions.Backends{
		Database: db, Expiry: time.Minute, Request: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close(); shut(db) })
	return lock, db
}

func shut(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}

func TestALockOfAnyKindIsTried(t *testing.T) {
	lock, db := sqliteLock(t)
	ask := inFile(lock.Bare)
	for range 3 { // none leaves a lock behind that would refuse the next
		if r := inTime(t, ask); len(r.Weaknesses) != 0 || len(r.Unknown) != 0 || time.Since(r.Taken) > time.Minute {
			t.Fatalf("got %+v", r)
		}
		testenv.Eventually(t, "no lock is held", func() bool { // a probe that was late gives back in the background
			var held int64
			if err := db.Table("locklab_locks").Where("owner <> ''").Count(&held).Error; err != nil {
				t.Fatal(err)
			}
			return held == 0
		})
	}
	// A key that another probe holds is granted.
	held, err := lock.Acquire(t.Context(), "lock:probe:instance+%7B1%7D")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Release(context.Background()) }()
	if r := inTime(t, ask); len(r.Weaknesses) != 0 {
		t.Errorf("while the key is held: %+v", r)
	}
}

func inFile(s lockstrategy.Strategy) preflight.Check {
	return preflight.Lock{Name: "v5", Instance: "instance {1}", Strategy: s, Where: "the file"}.Check
}

func TestALockThatIsNotGrantedIsNamed(t *testing.T) {
	lock, db := sqliteLock(t)
	shut(db)
	r, answered := inFile(lock.Bare)(t.Context())
	if !answered || len(r.Weaknesses) != 1 {
		t.Fatalf("got %+v, %t", r, answered)
	}
	w := r.Weaknesses[0]
	if !w.Refuses || !w.Grave || w.Where[0] != "the file" || w.What != "it fails to acquire" ||
		!strings.Contains(w.Remedy, "database is closed") {
		t.Errorf("it says %+v", w)
	}
}

// unreleased grants, and its server refuses each release with why.
type unreleased struct{ why error }

func (u unreleased) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, err
	}
	release := session.ReleaseFunc(func(context.Context) error { return u.why })
	return session.NewKeeper().Keep(ctx, request, session.Grant{Key: key, Asked: time.Now(), Owner: release})
}

func TestALockThatIsNotReleasedIsNamed(t *testing.T) {
	r, _ := inFile(unreleased{errors.New("not allowed")})(t.Context())
	if len(r.Weaknesses) != 1 || r.Weaknesses[0].What != "it fails to release" || !r.Weaknesses[0].Refuses {
		t.Errorf("got %+v", r)
	}
	// Somebody has deleted the key: the server does what a lock needs.
	r, _ = inFile(unreleased{fmt.Errorf("%w: 1", lockstrategy.ErrGone)})(t.Context())
	if len(r.Weaknesses) != 0 {
		t.Errorf("after a deletion: %+v", r)
	}
}

// No step begins when the caller's time is up.
func TestAProbeAsksNothingWhenItsTimeIsUp(t *testing.T) {
	lock, db := sqliteLock(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := session.Probe(ctx, lock.Bare, "k"); !errors.Is(err, context.Canceled) || db.Migrator().HasTable("locklab_locks") {
		t.Errorf("it says %v", err)
	}
}
