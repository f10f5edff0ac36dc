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

	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
)

// sqliteLock is a lock over a server that can be closed.
func sqliteLock(t *testing.T) (lock *lockstrategy.Opened, db *gorm.DB) {
	t.Helper()
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "locks.db")), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	lock, err = lockstrategy.Open(lockstrategy.NameDatabase, lockstrategy.Backends{Database: db, Lease: time.Second})
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
	ask := preflight.Strategy(lock, "the file", "instance {1}")
	for range 3 { // none leaves a lock behind that would refuse the next
		r, err := ask(t.Context())
		if err != nil || len(r.Weaknesses) != 0 || len(r.Servers) != 1 || r.Servers[0].Node != "the file" || time.Since(r.Taken) > time.Minute {
			t.Fatalf("got %+v, %v", r, err)
		}
		var held int64
		if err := db.Table("locklab_locks").Where("owner <> ''").Count(&held).Error; err != nil || held != 0 {
			t.Fatalf("%d locks are held (%v)", held, err)
		}
	}
	// A key that another probe holds is granted.
	if _, err := lock.Acquire(t.Context(), "lock:probe:instance+%7B1%7D"); err != nil {
		t.Fatal(err)
	}
	if r, err := ask(t.Context()); err != nil || len(r.Weaknesses) != 0 {
		t.Errorf("while the key is held: %+v, %v", r, err)
	}
}

func TestALockThatIsNotGrantedIsNamed(t *testing.T) {
	lock, db := sqliteLock(t)
	shut(db)
	r, err := preflight.Strategy(lock, "the file", "1")(t.Context())
	if err != nil || len(r.Weaknesses) != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	w := r.Weaknesses[0]
	if !w.Refuses || !w.Grave || w.Where[0] != "the file" || w.What != "it does not acquire a lock" || !strings.Contains(w.Remedy, "database is closed") {
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
	return lockstrategy.NewSessions().Lease(ctx, request, lockstrategy.Grant{
		Key: key, Asked: time.Now(), Release: func(context.Context) (int, error) { return 0, u.why },
	})
}

func TestALockThatIsNotReleasedIsNamed(t *testing.T) {
	r, err := preflight.Strategy(unreleased{errors.New("not allowed")}, "there", "1")(t.Context())
	if err != nil || len(r.Weaknesses) != 1 || r.Weaknesses[0].What != "it does not release a lock" || !r.Weaknesses[0].Refuses {
		t.Errorf("got %+v, %v", r, err)
	}
	// Somebody has deleted the key: the server does what a lock needs.
	r, err = preflight.Strategy(unreleased{fmt.Errorf("%w: 1", lockstrategy.ErrGone)}, "there", "1")(t.Context())
	if err != nil || len(r.Weaknesses) != 0 {
		t.Errorf("after a deletion: %+v, %v", r, err)
	}
}
