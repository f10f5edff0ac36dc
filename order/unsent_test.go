package order

import (
	"context"
	"errors"
	"net"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/internal/tables"
	"locklab/lab/testenv"
)

// Without a connection nothing is sent, and the error says that nothing was written.
func TestNothingIsWrittenWithoutAConnection(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	go func() {
		for conn, err := mute.Accept(); err == nil; conn, err = mute.Accept() {
			conn.Close()
		}
	}()
	for name, addr := range map[string]string{
		"no such host": "no..such.host:3306", "connection refused": "127.0.0.1:1", "no greeting": mute.Addr().String(),
	} {
		pool, err := openMySQL("lab@tcp(" + addr + ")/locklab")
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		dialect := mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true})
		db, err := gorm.Open(dialect, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{db: db, tables: tables.Of(&Order{}, &Win{}), name: addr}
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
				t.Errorf("%s, %s: %v", name, call, err)
			} else if call == "Create" {
				t.Log(err)
			}
		}
	}
}
