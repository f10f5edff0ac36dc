package html

import (
	"strings"
	"testing"
	"time"

	"locklab/lab/watch"
)

// failedOver is a topology whose master has ended, and in which a replica is the master.
func failedOver() *watch.Picture {
	held := watch.Lock{
		Held: watch.Held{Key: "lock:pview", Owner: "a:7", Token: 33 << 20, Left: 9 * time.Second, Listeners: 1}, By: "instance-2",
	}
	return &watch.Picture{
		Topology: "sentinel", Balancer: "http://127.0.0.1:4000",
		Instances: []watch.Box{{Name: "instance-1", State: watch.Runs}, {Name: "instance-2", State: watch.Runs}},
		Redis: []watch.Box{
			{Name: "master", Was: "master", State: watch.Ended},
			{Name: "replica-1", Role: "master", Was: "master", State: watch.Runs, Locks: []watch.Lock{held}},
			{Name: "replica-2", Role: "replica", Was: "replica", State: watch.Runs, Follows: "replica-1", Linked: true, Behind: 14},
			{Name: "replica-3", Role: "replica", Was: "replica", State: watch.Runs, Follows: "replica-1"},
		},
		Sentinels: []watch.Box{{Name: "sentinel-1", State: watch.Runs, Names: "replica-1"}},
		RedLock:   []watch.Box{{Name: "redlock-1", State: watch.Paused}},
	}
}

func servedBy(t *testing.T, p *watch.Picture) string {
	t.Helper()
	var text strings.Builder
	if err := Servers(&text, p); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// The picture has each server with its role, its state, and the lock that it keeps, from the holder of the lock to it. A server that has
// ended sends nothing.
func TestServersAreDrawn(t *testing.T) {
	text := servedBy(t, failedOver())
	wants(t, text,
		">master<", ">ended<", ">master · runs<", ">lock:pview → instance-2<", ">9 s left, token …603008, 1 listener<", ">14 bytes behind<",
		">connection down<", ">names the master: replica-1<", ">paused<",
	)
	if n := strings.Count(text, `class="sends"`); n != 3 { // of the balancer two, and that of instance-1
		t.Errorf("%d lines of requests", n)
	}
}
