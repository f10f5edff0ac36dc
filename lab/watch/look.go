package watch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/burst"
	"locklab/lab/servers"
)

// A server that does not answer within this time is asked again, and is silent if it does not answer then: on a busy machine, or in a
// failover, all can be slow once.
const answerWithin = 250 * time.Millisecond

// Picture is what the servers say now.
type Picture struct {
	Topology, Balancer                   string
	Instances, Redis, Sentinels, RedLock []Box
}

// Tier is a column of the picture: servers of one kind, from the top.
type Tier struct {
	Title string
	Room  int // for so many servers, so that little moves when a replica becomes a master
	Boxes []Box
}

// Tiers are the columns of the picture, from the balancer to the sentinels; none of no picture. The nodes of RedLock are none of them.
func (p *Picture) Tiers() (all []Tier) {
	if p == nil {
		return nil
	}
	room := p.masters()
	if p.Topology == "sentinel" { // the old master stays beside the new one
		room++
	}
	masters, replicas := p.split(room)
	for _, t := range []Tier{
		{"Balancer", 1, []Box{{Name: "round robin", Addr: strings.TrimPrefix(p.Balancer, "http://127.0.0.1"), State: Runs}}},
		{"Instances", 0, p.Instances},
		{"Redis, " + p.Topology, room, masters},
		{"Replicas", len(p.Redis) - p.masters(), replicas},
		{"Sentinels", 0, p.Sentinels},
	} {
		if t.Room = max(t.Room, len(t.Boxes)); t.Room > 0 {
			all = append(all, t)
		}
	}
	return all
}

// masters is how many the topology has when no server fails.
func (p *Picture) masters() int {
	if p.Topology == "cluster" {
		return len(p.Redis) / 2
	}
	return 1
}

func isMaster(b Box) bool { return b.Role == "master" || b.Role == "" && b.answers() } // miniredis says no role

func (b Box) answers() bool { return b.State == Runs || b.State == IsCut }

// Blind reports whether locks may be held that the picture does not show, because a master gave no answer.
func (p *Picture) Blind() bool {
	asked := 0
	for _, b := range p.Redis {
		if isMaster(b) && b.answers() {
			asked++
		}
	}
	return asked < p.masters()
}

// split parts the masters from the others. A master that ended stays one, until its place is needed.
func (p *Picture) split(room int) (masters, replicas []Box) {
	for _, b := range p.Redis {
		if isMaster(b) {
			room--
		}
	}
	for _, b := range p.Redis {
		switch {
		case isMaster(b):
			masters = append(masters, b)
		case b.Was == "master" && room > 0:
			masters, room = append(masters, b), room-1
		default:
			replicas = append(replicas, b)
		}
	}
	return masters, replicas
}

// Grant is a lock and the servers that keep it for one holder.
type Grant struct {
	Lock
	On []string
}

// Grants are the locks that are held, sorted by key.
func (p *Picture) Grants() (all []Grant) {
	for _, b := range slices.Concat(p.Redis, p.RedLock) {
		for _, l := range b.Locks {
			i := slices.IndexFunc(all, func(g Grant) bool { return g.Key == l.Key && g.Owner == l.Owner })
			if i < 0 {
				i, all = len(all), append(all, Grant{Lock: l})
			}
			all[i].On = append(all[i].On, b.Name)
		}
	}
	slices.SortStableFunc(all, func(a, b Grant) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// Box is one server.
type Box struct {
	Name, Addr string
	State      State
	Does       []Deed

	Role    string // of a server of Redis, as it says itself: master, replica; empty: it says none
	Was     string // the role that it said last
	Follows string // name of a replica's master
	Linked  bool   // a replica: to its master
	Names   string // of a sentinel: which server it says is the master
	Slots   string // of a master in a cluster
	Locks   []Lock

	owners []string // of an instance: the processes that it is or was, as owners of locks
}

// Lock is one that a server keeps.
type Lock struct {
	Held
	By string // the instance that holds it; empty: none says that it does
}

// Holder is the instance that holds the lock, or else the owner for people.
func (l Lock) Holder() string { return cmp.Or(l.By, l.Held.Holder()) }

// State is what a server does.
type State string

// The states.
const (
	Runs   State = "runs"
	Paused State = "paused"
	IsCut  State = "cut off"
	Ended  State = "ended"
	Silent State = "silent"
)

// Deed is a fault, or its end. Why says why it cannot be done; empty: it can.
type Deed struct {
	What  string
	Why   string
	Never bool // whatever the state of the server
}

// Look asks every server. It changes nothing.
func (s *Servers) Look(ctx context.Context) Picture {
	boxes := make([]Box, len(s.all))
	var asking sync.WaitGroup
	for i, one := range s.all {
		boxes[i] = one.box(s.redis)
		asking.Go(func() {
			if boxes[i].answers() && s.askTwice(ctx, one, &boxes[i]) != nil {
				boxes[i].State = Silent
			}
		})
	}
	asking.Wait()
	s.notice(boxes)
	p := Picture{Topology: s.redis.Kind, Balancer: s.balancer}
	for i, one := range s.all {
		of := map[string]*[]Box{anInstance: &p.Instances, ofRedis: &p.Redis, aSentinel: &p.Sentinels, ofRedLock: &p.RedLock}[one.kind]
		*of = append(*of, boxes[i])
	}
	p.holders()
	return p
}

// notice remembers the roles, and what has changed.
func (s *Servers) notice(boxes []Box) {
	for i, one := range s.all {
		if is := boxes[i].Role; is != "" {
			if one.role != "" && is != one.role {
				c := Change{At: time.Now(), What: one.name + " is a " + is}
				if is == "master" {
					c.Master = one.name
				}
				s.changed = append(s.changed, c)
			}
			one.role = is
		}
		for _, owner := range boxes[i].owners {
			if !slices.Contains(one.owners, owner) {
				one.owners = append(one.owners, owner)
			}
		}
		boxes[i].Was, boxes[i].owners = one.role, one.owners
	}
}

// holders names the instances that hold locks, in place of their processes.
func (p *Picture) holders() {
	for _, boxes := range [][]Box{p.Redis, p.RedLock} {
		for _, b := range boxes {
			for i := range b.Locks {
				of := func(instance Box) bool { return slices.Contains(instance.owners, b.Locks[i].Process()) }
				if at := slices.IndexFunc(p.Instances, of); at >= 0 {
					b.Locks[i].By = p.Instances[at].Name
				}
			}
		}
	}
}

// box is what is known of a server without a question.
func (s *server) box(t *servers.Topology) Box {
	b := Box{Name: s.name, State: Runs}
	if s.instance != nil {
		b.Addr = strings.TrimPrefix(s.instance.URL, "http://")
	} else {
		b.Addr = s.node.Addr
	}
	switch {
	case s.ended():
		b.State = Ended
	case s.paused:
		b.State = Paused
	case s.cut != nil:
		b.State = IsCut
	}
	next, cut := Pause, Cut // what is done most often in this state
	switch b.State {
	case Ended:
		next = Restart
	case Paused:
		next = Resume
	}
	if s.cut != nil {
		cut = Mend
	}
	for _, what := range []string{Kill, next, cut} {
		d := Deed{What: what, Why: s.never(what, t)}
		if d.Never = d.Why != ""; !d.Never {
			d.Why = s.not(what)
		}
		b.Does = append(b.Does, d)
	}
	return b
}

// askTwice asks a server, and once more if it does not answer in time.
func (s *Servers) askTwice(ctx context.Context, one *server, b *Box) (err error) {
	for range 2 {
		answered := *b
		if err = s.askWithin(ctx, one, &answered); err == nil {
			*b = answered
			break
		}
	}
	return err
}

func (s *Servers) askWithin(ctx context.Context, one *server, b *Box) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return s.ask(ctx, one, b)
}

// ask fills in what a server says of itself.
func (s *Servers) ask(ctx context.Context, one *server, b *Box) error {
	if one.instance != nil {
		health, err := burst.Target{URL: one.instance.URL}.Health(ctx)
		b.owners = slices.Collect(maps.Values(health.Owners))
		return err
	}
	return one.node.WithClient(func(c *redis.Client) (err error) {
		switch one.kind {
		case aSentinel:
			var addr []string
			addr, err = c.Do(ctx, "SENTINEL", "get-master-addr-by-name", servers.SentinelMaster).StringSlice()
			b.Names = s.at(strings.Join(addr, ":"))
			return err
		case ofRedis:
			err = s.role(ctx, c, b)
		}
		if err == nil && b.Role != replica {
			var held []Held
			held, err = Locks(ctx, c, s.redis.Kind == "cluster")
			for _, h := range held {
				b.Locks = append(b.Locks, Lock{Held: h})
			}
		}
		return err
	})
}

// at is the name of the server of Redis that others reach at an address.
func (s *Servers) at(addr string) string {
	for _, n := range s.redis.Nodes {
		if n.AnnouncedAddr() == addr {
			return n.Name
		}
	}
	return addr
}

const replica = "replica"

// role asks a server of Redis for its role. miniredis says none.
func (s *Servers) role(ctx context.Context, c *redis.Client, b *Box) error {
	sections, err := c.InfoMap(ctx, "replication").Result()
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return c.Ping(ctx).Err()
	}
	says := sections["Replication"]
	if err != nil {
		return err
	}
	if b.Role = says["role"]; b.Role == "slave" {
		b.Role, b.Linked = replica, says["master_link_status"] == "up"
		b.Follows = s.at(net.JoinHostPort(says["master_host"], says["master_port"]))
		return nil
	}
	if s.redis.Kind == "cluster" {
		b.Slots, err = slots(ctx, c)
	}
	return err
}

// slots are those that a server of a cluster has, as it says itself.
func slots(ctx context.Context, c *redis.Client) (string, error) {
	const first = 8 // the fields before: id, address, flags, master, ping, pong, epoch, link
	text, err := c.ClusterNodes(ctx).Result()
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > first && strings.Contains(fields[2], "myself") {
			return strings.Join(fields[first:], ", "), err
		}
	}
	return "", err
}
