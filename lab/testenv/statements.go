package testenv

import (
	"errors"
	"testing"

	"gorm.io/gorm"
)

// ErrRefused is why a statement is refused.
var ErrRefused = errors.New("this statement is refused")

// Statements refuses one statement of a database. A BEGIN and a COMMIT are never refused.
type Statements struct{ before int } // how many are executed before the one that is refused; negative: none is

// WatchStatements lets the statements of a database be refused.
func WatchStatements(t testing.TB, db *gorm.DB) *Statements {
	t.Helper()
	s, c := &Statements{-1}, db.Callback()
	refuse := func(tx *gorm.DB) {
		if s.before--; s.before == -1 {
			_ = tx.AddError(ErrRefused)
		}
	}
	if err := errors.Join(
		c.Create().Before("gorm:create").Register("refuse", refuse), c.Query().Before("gorm:query").Register("refuse", refuse),
		c.Update().Before("gorm:update").Register("refuse", refuse), c.Delete().Before("gorm:delete").Register("refuse", refuse),
		c.Raw().Before("gorm:raw").Register("refuse", refuse), c.Row().Before("gorm:row").Register("refuse", refuse),
	); err != nil {
		t.Fatal(err)
	}
	return s
}

// RefuseEach makes a call that has several statements, until it succeeds. The first time its first statement is refused, then its second
// one, and so on. Each time the call must have the error that is wanted, and unchanged looks whether it has done nothing.
func (s *Statements) RefuseEach(t testing.TB, name string, want error, call func() error, unchanged func()) {
	t.Helper()
	for n := 0; ; n++ {
		s.before = n
		err := call()
		refused := s.before < 0
		s.before = -1
		if !refused {
			if err != nil || n < 2 {
				t.Errorf("%s: %d statements, and %v", name, n, err)
			}
			return
		}
		if !errors.Is(err, want) || !errors.Is(err, ErrRefused) {
			t.Errorf("%s: statement %d is refused, and the error is: %v", name, n+1, err)
		}
		unchanged()
	}
}
