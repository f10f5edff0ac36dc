package worker

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// session obeys like a worker process; the returned function asks it one thing.
func session(t *testing.T) func(Order) Answer {
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
	return func(o Order) Answer {
		t.Helper()
		var a Answer
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
				task := Task{Lock: lock, Redis: server.Addr(), Load: Load{Kind: Burst, Waiters: 10, Each: 2, Keys: 2, Limit: 60_000}}
				if a := ask(Order{Do: "prepare", Task: &task}); a.Error != "" {
					t.Fatal(a.Error)
				}
				a := ask(Order{Do: "go", At: time.Now().UnixMicro()})
				if a.Error != "" || a.Result.Failed > 0 || len(a.Result.Done) != 10 || len(a.Result.Waits) != 20 {
					t.Fatalf("got %+v, %+v", a, a.Result)
				}
				for i := range 2 {
					if got, _ := server.Get(Value(i)); got != "10" {
						t.Errorf("%s is %s, want 10", Value(i), got)
					}
				}
			}
		})
	}
}

func TestTakeAndGive(t *testing.T) {
	server := miniredis.RunT(t)
	task := Task{Lock: "ours", Redis: server.Addr(), Load: Load{Kind: HandOver, Limit: 60_000}}
	a, b := session(t), session(t)
	for _, ask := range []func(Order) Answer{a, b} {
		if answer := ask(Order{Do: "prepare", Task: &task}); answer.Error != "" {
			t.Fatal(answer.Error)
		}
	}
	a(Order{Do: "take"})
	granted := make(chan Answer)
	go func() { granted <- b(Order{Do: "take"}) }()
	released := a(Order{Do: "give"})
	if got := <-granted; got.Error != "" || got.At < released.At {
		t.Errorf("granted %+v after %+v", got, released)
	}
	if got := b(Order{Do: "give"}); got.Error != "" {
		t.Error(got.Error)
	}
	if got := a(Order{Do: "dance"}); got.Error != `unknown order "dance"` {
		t.Errorf("an unknown order: %+v", got)
	}
}

// Each of many keys has a name of its own. A brace would be a tag in a cluster.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100 {
		if key := Key(i); seen[key] || strings.ContainsAny(key, "{}") {
			t.Errorf("key %d: %q", i, key)
		}
		seen[Key(i)] = true
	}
	if Key(0) != "peers:lock:a" || Value(25) != "peers:value:z" {
		t.Errorf("%s, %s: the Java worker has letters", Key(0), Value(25))
	}
}
