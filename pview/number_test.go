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

	"locklab/internal/testenv"
	"locklab/pview"
)

// Every version refuses what INCR refuses, names the value, and writes nothing.
func TestWhatIsNoNumber(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		c := counter(admin)
		for _, junk := range []string{
			"many", "", "1.5", "9223372036854775808", "-9223372036854775809", "+5", "007", "-0", " 5", "5 ", "0x10", "1e3",
		} {
			for name, call := range calls(c) {
				if _, err := strconv.Atoi(junk); name == "Set" || name == "IncrementAtomic" && !real && err == nil {
					continue // Set heals; miniredis's INCR takes what Go's Atoi takes
				}
				write(t, admin, junk)
				refuses(t, name, call, pview.ErrNotNumber, fmt.Sprintf("%q", junk))
				if got := admin.Get(t.Context(), pview.Key).Val(); got != junk {
					t.Errorf("%s of %q has written %q", name, junk, got)
				}
			}
		}
		if err := errors.Join(admin.Del(t.Context(), pview.Key).Err(), admin.RPush(t.Context(), pview.Key, 1).Err()); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(c) {
			if name != "Set" {
				refuses(t, name, call, pview.ErrNotNumber, "")
			}
		}
		set(t, c, 5)
		holds(t, c, 5)
	})
}

// A counter that was no number, and is one when it is read for the error, was refused all the same.
func TestACounterThatIsSetMeanwhile(t *testing.T) {
	admin := client(t, testenv.Redis(t, false).Addr)
	write(t, admin, "many")
	if view, err := pview.NewCounter(setMeanwhile{admin}, nil).IncrementAtomic(t.Context()); !errors.Is(err, pview.ErrNotNumber) {
		t.Errorf("got %+v, %v", view, err)
	}
}

// setMeanwhile is a Redis whose counter is set before each read.
type setMeanwhile struct{ *redis.Client }

func (s setMeanwhile) Get(ctx context.Context, key string) *redis.StringCmd {
	_ = s.Set(ctx, key, 5, 0)
	return s.Client.Get(ctx, key)
}

// The largest number can be read, and no version counts beyond it.
func TestTheLargestNumber(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		c := counter(admin)
		for name, call := range calls(c) {
			if !strings.HasPrefix(name, "Get") && name != "Set" {
				write(t, admin, strconv.Itoa(math.MaxInt64-1))
				if err := call(t.Context()); err != nil {
					t.Errorf("%s of the number before the largest: %v", name, err)
				}
				refuses(t, name, call, pview.ErrOverflow, "9223372036854775807")
				holds(t, c, math.MaxInt64)
			}
		}
		write(t, admin, "-9223372036854775808")
		increments(t, c, 0, math.MinInt64+1)
	})
}

func write(t *testing.T, admin *redis.Client, text string) {
	t.Helper()
	if err := admin.Set(t.Context(), pview.Key, text, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

// refuses fails unless a call is refused for the reason alone, and names the value.
func refuses(t *testing.T, name string, call func(context.Context) error, reason error, value string) {
	t.Helper()
	if err := call(t.Context()); !errors.Is(err, reason) || errors.Is(err, pview.ErrUnavailable) || !strings.Contains(err.Error(), value) {
		t.Errorf("%s of %s: got %v, want %q alone, with the value", name, value, err, reason)
	}
}
