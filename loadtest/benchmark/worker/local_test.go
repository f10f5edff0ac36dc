package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// The first caller is served first; a caller whose context ends is passed over.
func TestLocalIsFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := local()
		unlock, err := lock(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		var served []int
		impatient, leave := context.WithCancel(t.Context())
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
			}
			go func() {
				unlock, err := lock(ctx, "key")
				if i == 2 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("the caller whose context ended got %v", err)
					}
					return
				}
				served = append(served, i)
				_ = unlock()
			}()
			synctest.Wait() // it is in the queue
		}
		leave()
		synctest.Wait()
		if len(served) > 0 {
			t.Fatalf("%v were served while the key was held", served)
		}
		_ = unlock()
		synctest.Wait()
		if want := []int{0, 1, 3, 4}; !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}
