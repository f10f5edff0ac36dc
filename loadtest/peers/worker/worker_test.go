package worker

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/loadtest/peers/wire"
)

// session obeys like a worker process; the returned function asks it one thing.
func session(t *testing.T) func(wire.Order) wire.Answer {
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(in, out) }()
	t.Cleanup(func() {
		_ = orders.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	encoder, decoder := json.NewEncoder(orders), json.NewDecoder(answers)
	return func(o wire.Order) wire.Answer {
		t.Helper()
		var a wire.Answer
		if err := encoder.Encode(o); err != nil {
			t.Fatal(err)
		}
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// Every lock serves everybody and loses nothing; then a second task in the same process.
func TestBurst(t *testing.T) {
	server := miniredis.RunT(t)
	for _, lock := range []string{"ours", "local", "redsync", "redislock"} {
		t.Run(lock, func(t *testing.T) {
			ask := session(t)
			for range 2 {
				server.FlushAll()
				task := wire.Task{Lock: lock, Redis: server.Addr(), Load: wire.Load{Kind: wire.Burst, Waiters: 10, Each: 2, Keys: 2, Limit: 60_000}}
				if a := ask(wire.Order{Do: "prepare", Task: &task}); a.Error != "" {
					t.Fatal(a.Error)
				}
				a := ask(wire.Order{Do: "go", At: time.Now().UnixMicro()})
				if a.Error != "" || a.Result.Failed > 0 || len(a.Result.Done) != 10 || len(a.Result.Waits) != 20 {
					t.Fatalf("got %+v, %+v", a, a.Result)
				}
				for i := range 2 {
					if got, _ := server.Get(wire.Value(i)); got != "10" {
						t.Errorf("%s is %s, want 10", wire.Value(i), got)
					}
				}
			}
		})
	}
}

func TestTakeAndGive(t *testing.T) {
	server := miniredis.RunT(t)
	task := wire.Task{Lock: "ours", Redis: server.Addr(), Load: wire.Load{Kind: wire.HandOver, Limit: 60_000}}
	a, b := session(t), session(t)
	for _, ask := range []func(wire.Order) wire.Answer{a, b} {
		if answer := ask(wire.Order{Do: "prepare", Task: &task}); answer.Error != "" {
			t.Fatal(answer.Error)
		}
	}
	a(wire.Order{Do: "take"})
	granted := make(chan wire.Answer)
	go func() { granted <- b(wire.Order{Do: "take"}) }()
	released := a(wire.Order{Do: "give"})
	if got := <-granted; got.Error != "" || got.At < released.At {
		t.Errorf("granted %+v after %+v", got, released)
	}
	if got := b(wire.Order{Do: "give"}); got.Error != "" {
		t.Error(got.Error)
	}
	if got := a(wire.Order{Do: "dance"}); got.Error != `unknown order "dance"` {
		t.Errorf("an unknown order: %+v", got)
	}
}
