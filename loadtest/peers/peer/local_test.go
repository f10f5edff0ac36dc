package peer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// First come, first served; who gives up is passed over.
func TestLocalIsFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLocal()
		unlock, err := l.Lock(t.Context(), "key")
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
				unlock, err := l.Lock(ctx, "key")
				if i == 2 {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("who gave up got %v", err)
					}
					return
				}
				served = append(served, i)
				_ = unlock()
			}()
			synctest.Wait() // it stands in the queue
		}
		leave()
		synctest.Wait()
		if len(served) > 0 {
			t.Fatalf("%v were served while the key was held", served)
		}
		_ = unlock()
		synctest.Wait()
		if want := []int{0, 1, 3, 4}; len(served) != 4 || served[0] != want[0] || served[1] != want[1] || served[2] != want[2] || served[3] != want[3] {
			t.Errorf("served %v, want %v", served, want)
		}
	})
}
