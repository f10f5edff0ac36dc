package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func never(error) error { return nil }

// The end of the wait cuts the last try. Its timeout, alone or beside other errors, does not replace what a whole try said.
func TestTheErrorIsThatOfAWholeTry(t *testing.T) {
	cut := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		name  string
		tries []error
		says  string
	}{
		{"a timeout after a refusal", []error{errors.New("refused"), cut}, "refused"},
		{"a refusal after a timeout", []error{context.DeadlineExceeded, errors.New("refused")}, "refused"},
		{"a joined timeout", []error{errors.New("2 of 3"), fmt.Errorf("3 of 3: %w", errors.Join(io.EOF, cut))}, "2 of 3"},
		{"nothing but timeouts", []error{fmt.Errorf("the first: %w", cut), context.DeadlineExceeded}, "the first"},
		{"the newest refusal", []error{errors.New("refused"), io.EOF}, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(c.tries))*time.Second)
				defer cancel()
				at := 0
				err := Until(ctx, time.Second+time.Millisecond, func(context.Context) error { at++; return c.tries[min(at, len(c.tries))-1] }, never)
				if err == nil || !strings.HasPrefix(err.Error(), "not reached in time: "+c.says) || at != len(c.tries) {
					t.Errorf("after %d tries: %v, want %s", at, err, c.says)
				}
			})
		})
	}
}

// A try that succeeds, or an error that no repetition mends, ends the wait.
func TestWhatEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		if err := Until(t.Context(), time.Hour, func(context.Context) error {
			if tries++; tries < 3 {
				return io.EOF
			}
			return nil
		}, never); err != nil || tries != 3 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		wrong := errors.New("the password is wrong")
		err := Until(t.Context(), time.Hour, func(context.Context) error { return io.EOF }, func(error) error { return wrong })
		if !errors.Is(err, wrong) {
			t.Errorf("%v is not what hopeless says", err)
		}
	})
}
