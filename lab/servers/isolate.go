package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
)

// Isolation is one server that is cut off from the others of its kind, until Mend. Traffic between them is dropped,
// and connections stay open, as in a network partition. Clients that connect to the server's own address reach it all the same.
//
// A direction is that at a proxy before the server: with [faultproxy.ToClient] the others do not hear it, with [faultproxy.ToServer] it
// does not hear them. What the other direction carries arrives on connections that there are. A new one leads nowhere.
type Isolation struct {
	name      string
	direction faultproxy.Direction
	proxies   []*Proxy
	before    faultproxy.Dropped
}

// Cut drops everything at proxies, between clients and some of several independent servers.
func Cut(name string, proxies ...*Proxy) *Isolation {
	return CutSides(name, faultproxy.Both, proxies, nil)
}

// CutSides cuts servers off from the rest. before are the proxies over which the rest reaches them, and beyond those over which they, and
// clients beside them, reach the rest.
func CutSides(name string, d faultproxy.Direction, before, beyond []*Proxy) *Isolation {
	i := &Isolation{name: name, direction: d}
	for _, p := range before {
		i.drop(p, d)
	}
	for _, p := range beyond {
		i.drop(p, d.Opposite())
	}
	return i
}

// drop drops everything in a direction at p, or what some senders and the server behind p send each other.
func (i *Isolation) drop(p *Proxy, d faultproxy.Direction, senders ...string) {
	before := p.Dropped()
	i.proxies, i.before.Bytes, i.before.Passed = append(i.proxies, p), i.before.Bytes+before.Bytes, i.before.Passed+before.Passed
	if len(senders) == 0 {
		p.Drop(d)
		return
	}
	p.DropMatching(d, func(label string) bool { return slices.Contains(senders, label) })
}

// Await waits until something was dropped, and in the other direction something has arrived, unless both are dropped. That is the proof:
// servers send each other signs of life.
func (i *Isolation) Await(ctx context.Context) (proof string, err error) {
	var lost, passed int64
	err = Until(ctx, func(context.Context) error {
		lost, passed = -i.before.Bytes, -i.before.Passed
		for _, p := range i.proxies {
			dropped := p.Dropped()
			lost, passed = lost+dropped.Bytes, passed+dropped.Passed
		}
		if lost == 0 {
			return errors.New("nothing was dropped between " + i.name + " and the others")
		}
		if passed == 0 && i.direction != faultproxy.Both {
			return errors.New("nothing has arrived in the other direction between " + i.name + " and the others")
		}
		return nil
	})
	switch i.direction {
	case faultproxy.ToClient:
		proof = fmt.Sprintf("%d bytes that it sent were dropped so far, and %d that the others sent it arrived", lost, passed)
	case faultproxy.ToServer:
		proof = fmt.Sprintf("%d bytes that the others sent it were dropped so far, and %d that it sent arrived", lost, passed)
	default:
		proof = fmt.Sprintf("%d bytes between it and the others were dropped so far", lost)
	}
	return proof, err
}

// Mend ends the isolation, and any other fault of its proxies. An etcd server that is cut off does not end before that when it is asked to.
func (i *Isolation) Mend() {
	for _, p := range i.proxies {
		p.Mend()
	}
}

// Isolate cuts a member off in a direction. The cluster is one of [Stack.ProxiedEtcd]. The others' requests for its version are dropped,
// too; its own still pass, and they say nothing of keys.
func (e *Etcd) Isolate(ctx context.Context, m *Member, d faultproxy.Direction) (*Isolation, error) {
	status, err := m.status(ctx)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(status.Header.MemberID, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s has no id: %w", m.Name, err)
	}
	i := &Isolation{name: m.Name, direction: d}
	i.drop(m.Proxy, d)
	for _, other := range e.Members {
		if other != m {
			i.drop(other.Proxy, d.Opposite(), strconv.FormatUint(id, 16))
		}
	}
	return i, nil
}

// Isolate cuts a server off in a direction. It is one of [Stack.ProxiedZooKeeper].
func (n *ZooKeeperNode) Isolate(d faultproxy.Direction) *Isolation {
	return CutSides(n.Name, d, n.before, n.beyond)
}

// Isolate cuts a node off, in a direction, from the other servers, and from the clients that reach it over its proxy. The topology is one
// of [Stack.ProxiedTopology], in processes. A node that follows another one still receives from it.
func (t *Topology) Isolate(ctx context.Context, n *Node, d faultproxy.Direction) (*Isolation, error) {
	i := &Isolation{name: n.Name, direction: d}
	if n.bus == nil {
		i.drop(n.Proxy, d)
		return i, nil
	}
	var id string
	err := n.WithClient(func(c *redis.Client) (err error) {
		id, err = c.Do(ctx, "CLUSTER", "MYID").Text()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	i.drop(n.Proxy, d)
	i.drop(n.bus, d)
	for _, other := range t.Nodes {
		if other != n {
			i.drop(other.bus, d.Opposite(), id)
		}
	}
	return i, nil
}

// DropReplicas drops what replicas and this node send each other. A replica that connects again does not get through either.
func (n *Node) DropReplicas(replicas ...*Node) *Isolation {
	var ports []string // with which a replica introduces itself
	for _, r := range replicas {
		ports = append(ports, strconv.Itoa(portOf(r.Addr)), strconv.Itoa(portOf(r.AnnouncedAddr())))
	}
	i := &Isolation{name: n.Name, direction: faultproxy.Both}
	i.drop(n.Proxy, i.direction, ports...)
	return i
}

// Without is the topology for clients that must not be told the address of a node.
func (t *Topology) Without(n *Node) *Topology {
	rest := *t
	rest.Addrs = slices.DeleteFunc(slices.Clone(t.Addrs), func(addr string) bool { return addr == n.AnnouncedAddr() })
	return &rest
}
