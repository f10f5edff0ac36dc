package html

import (
	"regexp"
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

// The picture has each server with its role, its state, and the lock that it keeps. A strong line leads from the holder of the lock to it,
// and a line with a tip from each master to its replicas. A server that has ended sends nothing.
func TestServersAreDrawn(t *testing.T) {
	text := servedBy(t, failedOver())
	wants(t, text,
		`<path class="server off" d="M283 22h`, `>master</text>`, `>ended</text>`,
		`<path class="server holds" d="M283 92h`, `>master · runs</text>`,
		">lock:pview → instance-2<", ">9 s left, token …603008, 1 listener<",
		`<path class="held" d="M243 96L270 123M277 123l-7 -4v8z"/>`, // instance-2 to replica-1
		`<path class="sends" d="M243 44L277 123"/>`,                 // instance-1 to replica-1
		`<path class="copies" d="M543 123L570 44M577 44l-7 -4v8z"/>`, ">14 bytes behind<", `<path class="copies down" `, ">connection down<",
		">names the master: replica-1<", `>paused</text>`,
	)
	if n := strings.Count(text, `class="sends"`); n != 3 { // of the balancer two, and that of instance-1
		t.Errorf("%d lines of requests", n)
	}
}

// Below the picture are buttons: its height stays the same while masters change.
func TestThePictureOfServersKeepsItsHeight(t *testing.T) {
	height := regexp.MustCompile(`viewBox="[^"]*"`)
	before := failedOver()
	before.Redis[0].Role, before.Redis[0].State = "master", watch.Runs
	before.Redis[1].Role, before.Redis[1].Was, before.Redis[1].Locks = "replica", "replica", nil
	first, p := height.FindString(servedBy(t, before)), failedOver()
	for failovers := 1; ; failovers++ {
		text := servedBy(t, p)
		if then := height.FindString(text); first != then || strings.Contains(text, `d="M283 162h`) {
			t.Errorf("before the failovers it has %s, and after %d of them\n%s", first, failovers, text)
		}
		if failovers == 3 {
			break
		}
		p.Redis[failovers].Role, p.Redis[failovers].State = "", watch.Ended
		p.Redis[failovers+1].Role, p.Redis[failovers+1].Was = "master", "master"
	}
}

// A replica that has not answered yet is not drawn as a master.
func TestAReplicaWithoutAnAnswerIsNoMaster(t *testing.T) {
	p := failedOver()
	p.Redis[0].Role, p.Redis[0].State = "master", watch.Runs
	p.Redis[1] = watch.Box{Name: "replica-1", State: watch.Silent}
	if text := servedBy(t, p); !strings.Contains(text, `<path class="server off" d="M583 22h`) {
		t.Errorf("it is not with the replicas in\n%s", text)
	}
}

// A text that is too long for its box is cut.
func TestATextOfAServerStaysInItsBox(t *testing.T) {
	p := failedOver()
	p.Redis[1].Locks[0].Key = strings.Repeat("long", 30)
	if text := servedBy(t, p); !regexp.MustCompile(`>(long){9,10}l?o?n?g?…<`).MatchString(text) {
		t.Errorf("it is not cut in\n%s", text)
	}
}
