//go:build unix

package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
	"locklab/versions"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// started are the servers of a topology with proxies.
func started(t *testing.T, kind string, proxied, real bool) (*Servers, *servers.Topology) {
	t.Helper()
	s, ctx := testenv.Stack(t), testenv.Context(t)
	start := s.Topology
	if proxied {
		start = s.ProxiedTopology
	}
	top, err := start(ctx, kind, real)
	if err != nil {
		t.Fatal(err)
	}
	return Of(burst.Running{Redis: top}), top
}

// look waits until the picture is as wanted.
func look(t *testing.T, s *Servers, what string, want func(Picture) bool) (p Picture) {
	t.Helper()
	testenv.Eventually(t, what, func() bool {
		p = s.Look(t.Context())
		return want(p)
	})
	return p
}

func do(t *testing.T, s *Servers, name, what string) {
	t.Helper()
	f, err := s.Do(testenv.Context(t), name, what)
	if err != nil || f.Proof == "" || f.Server != name || f.What != what || s.Newest(1)[0] != f {
		t.Fatalf("%s %s: %+v, %v; the newest is %v", what, name, f, err, s.Newest(1))
	}
}

// firstMaster is the server that was the first master.
func firstMaster(t *testing.T, p Picture) Box {
	t.Helper()
	for _, b := range p.Redis {
		if b.Name == "master" {
			return b
		}
	}
	t.Fatalf("no master in %+v", p)
	return Box{}
}

// Every server says its role itself. A master that is cut off stays one in its own eyes, and the sentinels name another one.
func TestTheSentinelsReplaceAMasterThatIsCutOff(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	s, _ := started(t, "sentinel", true, true)
	p := look(t, s, "the roles are right", func(p Picture) bool {
		first := p.Redis[1]
		follows := first.Role == replica && first.Follows == "master" && first.Linked
		return p.Redis[0].Role == "master" && follows && p.Sentinels[2].Names == "master"
	})
	if len(p.Redis) != 4 || len(p.Sentinels) != 3 {
		t.Errorf("%+v", p)
	}
	began := time.Now()
	do(t, s, "master", Cut)
	look(t, s, "another master is named", func(p Picture) bool {
		promoted := slices.ContainsFunc(p.Redis[1:], func(b Box) bool { return b.Role == "master" })
		return firstMaster(t, p).State == IsCut && firstMaster(t, p).Role == "master" && p.Sentinels[0].Names != "master" && promoted
	})
	do(t, s, "master", Mend)
	p = look(t, s, "the old master is a replica", func(p Picture) bool { return firstMaster(t, p).Role == replica })
	var all []string
	for _, c := range s.Changes(began) {
		all = append(all, c.What)
	}
	promoted := slices.IndexFunc(p.Redis, func(b Box) bool { return b.Role == "master" })
	want := "cut master, " + p.Redis[promoted].Name + " is a master, mend master, master is a replica"
	if got := strings.Join(all, ", "); got != want {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	if cut := s.Newest(2)[1]; cut.Master != p.Redis[promoted].Name || cut.Until() <= 0 || s.Newest(1)[0].Master != "" {
		t.Errorf("what came of the faults: %+v", s.Newest(2))
	}
	if later := s.Changes(time.Now()); len(later) > 0 {
		t.Errorf("later there are %v", later)
	}
	// A promoted replica that starts again stays the master, or another one replaces it. With its first settings it would follow its own
	// replica, and no server would be the master.
	do(t, s, p.Redis[promoted].Name, Restart)
	look(t, s, "one is the master of all others", func(p Picture) bool {
		i := slices.IndexFunc(p.Redis, func(b Box) bool { return b.Role == "master" })
		return i >= 0 && !slices.ContainsFunc(p.Redis, func(b Box) bool {
			return b.Name != p.Redis[i].Name && (!b.Linked || b.Follows != p.Redis[i].Name)
		})
	})
	do(t, s, "master", Kill)
	if b := firstMaster(t, s.Look(t.Context())); b.Role != "" || b.Was == "" {
		t.Errorf("after its end it was a %q, and says %q", b.Was, b.Role)
	}
}

// A replica that starts again is a replica of the same master, without a sentinel too.
func TestAReplicaStartsAgain(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	s, _ := started(t, "master-slave", false, true)
	do(t, s, "replica-1", Restart)
	look(t, s, "it is a replica", func(p Picture) bool {
		return p.Redis[1].Name == "replica-1" && p.Redis[1].Linked && p.Redis[1].Follows == "master"
	})
}

// An instance says by which name each lock knows it.
func TestAnInstanceSaysItsOwners(t *testing.T) {
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"instance":"instance-1","owners":{"v3":"a","v4":"b"}}`)
	}))
	defer instance.Close()
	var b Box
	err := new(Servers).ask(t.Context(), &server{instance: &servers.Instance{URL: instance.URL}}, &b)
	if slices.Sort(b.owners); err != nil || !slices.Equal(b.owners, []string{"a", "b"}) {
		t.Errorf("%q, %v", b.owners, err)
	}
}

// A server that is slow to answer once is no silent one. One that does not answer again is.
func TestASlowAnswerIsNoSilence(t *testing.T) {
	t.Parallel()
	for slow, silent := range map[int32]bool{1: false, 9: true} {
		var asked atomic.Int32
		instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) <= slow {
				<-r.Context().Done() // until nobody waits for the answer
				return
			}
			fmt.Fprint(w, `{"instance":"instance-1","owners":{"v3":"a"}}`)
		}))
		defer instance.Close()
		var b Box
		err := new(Servers).askTwice(t.Context(), &server{instance: &servers.Instance{URL: instance.URL}}, &b)
		if (err != nil) != silent || (b.owners == nil) != silent {
			t.Errorf("after %d slow answers: %v, %q", slow, err, b.owners)
		}
	}
}

// A fault that could not be proven is recorded too, because it may have changed the server.
func TestAFaultWithoutAProofIsRecorded(t *testing.T) {
	t.Parallel()
	s, _ := started(t, "single", false, false)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Do(t.Context(), "redis-1", Pause); err != nil {
		t.Fatal(err)
	}
	f, err := s.Do(ended, "redis-1", Resume)
	if newest := s.Newest(1)[0]; err == nil || newest != f || f.What != Resume || !strings.HasPrefix(f.Proof, "not proven: ") {
		t.Errorf("%+v, %v; the newest is %+v", f, err, newest)
	}
}

// A lock is held by the instance that has the process of its owner, and by nobody known without one.
func TestTheHolderOfALockIsAnInstance(t *testing.T) {
	of := func(owner string) Box {
		return Box{Locks: []Lock{{Held: Held{Key: "lock:pview", Owner: owner}}}}
	}
	p := Picture{
		Instances: []Box{{Name: "instance-1", owners: []string{"a", "b"}}, {Name: "instance-2", owners: []string{"c"}}},
		Redis:     []Box{{}, of("c:7")}, RedLock: []Box{of("b:1"), of("another:2")},
	}
	p.holders()
	for _, c := range []struct {
		box  Box
		want string
	}{{p.Redis[1], "instance-2"}, {p.RedLock[0], "instance-1"}, {p.RedLock[1], "process another, attempt 2"}} {
		if got := c.box.Locks[0].Holder(); got != c.want {
			t.Errorf("%s is held by %q, want %q", c.box.Locks[0].Owner, got, c.want)
		}
	}
}

// The newest role of a server is known after its end. The processes of an instance are known too, because their leases go on.
func TestAServerThatEndedIsRemembered(t *testing.T) {
	s := &Servers{all: []*server{{name: "instance-1"}, {name: "redis-1"}}}
	for _, process := range []string{"a", "b"} {
		s.notice([]Box{{owners: []string{process}}, {Role: "master"}})
	}
	boxes := make([]Box, 2)
	s.notice(boxes)
	if boxes[1].Was != "master" || !slices.Equal(boxes[0].owners, []string{"a", "b"}) {
		t.Errorf("%+v", boxes)
	}
}

// The masters of a cluster have their slots, and the lock with those who wait for it, which a cluster counts by sharded channels.
func TestMastersOfAClusterSayTheirSlots(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	s, top := started(t, "cluster", false, true)
	conn, err := topology.Open(t.Context(), topology.Config{Kind: topology.Cluster, Addrs: top.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	holds(t, conn)
	waits := conn.Master.SSubscribe(t.Context(), "redisson_lock__channel:{lock:pview}")
	defer waits.Close()
	if _, err := waits.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := s.Look(t.Context())
	if p.Redis[0].Slots != "0-5460" || p.Redis[2].Slots != "10922-16383" || p.Redis[3].Slots != "" {
		t.Errorf("%+v", p.Redis)
	}
	var locks []Lock
	for _, b := range p.Redis {
		locks = append(locks, b.Locks...)
	}
	if len(locks) != 1 || locks[0].Key != "lock:pview" || locks[0].Token == 0 || locks[0].Listeners < 1 {
		t.Errorf("the locks are %+v", locks)
	}
	if _, err := s.Do(t.Context(), "cluster-1", Cut); !errors.Is(err, ErrImpossible) {
		t.Error(err)
	}
}

// holds takes the lock of the counter, until the test ends.
func holds(t *testing.T, conn *topology.Redis) {
	t.Helper()
	opened, err := versions.Open(versions.NameRedis, versions.Backends{Redis: conn.Master})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	lease, err := opened.Acquire(t.Context(), "lock:pview")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release(context.Background()) })
}

// Each fault is proven, shows in the picture, and ends. A fault that is impossible changes nothing and says what to do.
func TestFaultsOfOneServer(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		s, _ := started(t, "single", true, real)
		const name = "redis-1"
		is := func(then State) { // a busy machine may not answer in the time of one look
			t.Helper()
			look(t, s, "it "+string(then), func(p Picture) bool {
				return p.Redis[0].State == then && p.Blind() == (then == Paused || then == Ended)
			})
		}
		look(t, s, "it runs", func(p Picture) bool { return p.Redis[0].State == Runs && (p.Redis[0].Role == "master") == real })
		for _, c := range []struct {
			what string
			then State
		}{{Pause, Paused}, {Resume, Runs}, {Cut, IsCut}, {Mend, Runs}, {Kill, Ended}, {Restart, Runs}, {Pause, Paused}, {Restart, Runs}} {
			do(t, s, name, c.what)
			is(c.then)
		}
		before := len(s.Newest(100))
		for _, c := range []struct {
			name, what string
			is         error
			says       string
		}{
			{"redis-9", Kill, ErrUnknown, "choose a server"},
			{name, "burn", ErrUnknown, "choose a server and a fault"},
			{name, Resume, ErrImpossible, "pause it first"},
			{name, Mend, ErrImpossible, "cut it first"},
		} {
			if _, err := s.Do(t.Context(), c.name, c.what); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %s: %v", c.what, c.name, err)
			}
		}
		if is(Runs); len(s.Newest(100)) != before {
			t.Error("an impossible fault has changed something")
		}
	})
}

// A server that another program has stopped is shown as silent, and one whose process has ended as ended, in bounded time.
func TestASilentServerIsShown(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	s, top := started(t, "single", false, true)
	testenv.Pause(t, top.Nodes[0])
	if b := s.Look(context.Background()).Redis[0]; b.State != Silent {
		t.Errorf("it %s", b.State)
	}
	top.Nodes[0].Kill()
	if b := s.Look(context.Background()).Redis[0]; b.State != Ended || b.Does[1] != (Deed{What: Restart}) || b.Does[0].Why == "" {
		t.Errorf("%+v", b)
	}
}
