package order

import (
	"context"
	"errors"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/internal/database"
	"locklab/internal/tables"
	"locklab/lab/testenv"
)

// Without a connection nothing is sent, and the error says that nothing was written.
func TestNothingIsWrittenWithoutAConnection(t *testing.T) {
	dialect := mysql.New(mysql.Config{DSN: "lab@tcp(127.0.0.1:1)/locklab", SkipInitializeWithVersion: true})
	db, err := gorm.Open(dialect, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{Database: &database.Database{DB: db, Name: "127.0.0.1:1"}, tables: tables.Of(&Order{}, &Win{})}
	defer s.Close()
	for call, do := range map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error { _, err := s.Create(ctx); return err },
		"Grab": func(ctx context.Context) error {
			_, err := s.Grab(ctx, testenv.NoLock, Attempt{OrderID: 1, Driver: 1})
			return err
		},
		"a token": func(ctx context.Context) error {
			_, err := s.Grab(ctx, testenv.Granted(1), Attempt{OrderID: 1, Driver: 1})
			return err
		},
		"GrabAtomic": func(ctx context.Context) error {
			_, err := s.GrabAtomic(ctx, Attempt{OrderID: 1, Driver: 1})
			return err
		},
	} {
		if err := do(t.Context()); !errors.Is(err, ErrUnavailable) || !errors.Is(err, ErrNotWritten) {
			t.Errorf("%s: %v", call, err)
		}
	}
}
