package pview_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/pview"
)

// Every method rejects what INCR rejects: the error contains the value, and nothing is written.
func TestNotANumber(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		c := counter(admin)
		for _, junk := range []string{
			"many", "", "1.5", "9223372036854775808", "-9223372036854775809", "+5", "007", "-0", " 5", "5 ", "0x10", "1e3",
		} {
			for name, call := range calls(c) {
				if _, err := strconv.Atoi(junk); name == "Set" || name == "IncrementAtomic" && !real && err == nil {
					continue // Set repairs the counter; miniredis's INCR accepts what Atoi accepts
				}
				setRaw(t, admin, junk)
				wantRefusal(t, name, call, pview.ErrNotNumber, fmt.Sprintf("%q", junk))
				if got := admin.Get(t.Context(), pview.Key).Val(); got != junk {
					t.Errorf("%s of %q wrote %q", name, junk, got)
				}
			}
		}
		if err := errors.Join(admin.Del(t.Context(), pview.Key).Err(), admin.RPush(t.Context(), pview.Key, 1).Err()); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(c) {
			if name != "Set" {
				wantRefusal(t, name, call, pview.ErrNotNumber, "")
			}
		}
		set(t, c, 5)
		wantValue(t, c, 5)
	})
}

// INCR fails because the counter is not a number; when it is read for the error, it is one. The error must remain.
func TestCounterSetAfterIncr(t *testing.T) {
	admin := client(t, testenv.Redis(t, false).Addr)
	setRaw(t, admin, "many")
	if view, err := pview.NewCounter(setBeforeGet{admin}, nil).IncrementAtomic(t.Context()); !errors.Is(err, pview.ErrNotNumber) {
		t.Errorf("got %+v, %v", view, err)
	}
}

// setBeforeGet sets the counter before each read.
type setBeforeGet struct{ *redis.Client }

func (s setBeforeGet) Get(ctx context.Context, key string) *redis.StringCmd {
	_ = s.Set(ctx, key, 5, 0)
	return s.Client.Get(ctx, key)
}

// The largest number can be read, but not incremented.
func TestOverflow(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		c := counter(admin)
		for name, call := range calls(c) {
			if !strings.HasPrefix(name, "Get") && name != "Set" {
				setRaw(t, admin, strconv.Itoa(math.MaxInt64-1))
				if err := call(t.Context()); err != nil {
					t.Errorf("%s of the number before the largest: %v", name, err)
				}
				wantRefusal(t, name, call, pview.ErrOverflow, "9223372036854775807")
				wantValue(t, c, math.MaxInt64)
			}
		}
		setRaw(t, admin, "-9223372036854775808")
		wantIncrement(t, c, 0, math.MinInt64+1)
	})
}

func setRaw(t *testing.T, admin *redis.Client, text string) {
	t.Helper()
	if err := admin.Set(t.Context(), pview.Key, text, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

// wantRefusal fails unless a call returns the error reason, and not ErrUnavailable, with value in its text.
func wantRefusal(t *testing.T, name string, call func(context.Context) error, reason error, value string) {
	t.Helper()
	if err := call(t.Context()); !errors.Is(err, reason) || errors.Is(err, pview.ErrUnavailable) || !strings.Contains(err.Error(), value) {
		t.Errorf("%s of %s: got %v, want %q with the value, and not ErrUnavailable", name, value, err, reason)
	}
}
