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
type Isolation struct {
	name    string
	proxies []*Proxy
	before  int64
}

// Cut drops everything at proxies, between clients and some of several independent servers.
func Cut(name string, proxies ...*Proxy) *Isolation {
	i := &Isolation{name: name}
	for _, p := range proxies {
		i.drop(p)
	}
	return i
}

// drop drops everything at p, or what some senders and the server behind p send each other.
func (i *Isolation) drop(p *Proxy, senders ...string) {
	i.proxies, i.before = append(i.proxies, p), i.before+p.Dropped().Bytes
	if len(senders) == 0 {
		p.Drop(faultproxy.Both)
		return
	}
	p.DropMatching(faultproxy.Both, func(label string) bool { return slices.Contains(senders, label) })
}

// Await waits until something was dropped, which is the proof: servers send each other signs of life.
func (i *Isolation) Await(ctx context.Context) (proof string, err error) {
	var lost int64
	err = Until(ctx, func(context.Context) error {
		lost = -i.before
		for _, p := range i.proxies {
			lost += p.Dropped().Bytes
		}
		if lost == 0 {
			return errors.New("nothing was dropped between " + i.name + " and the others")
		}
		return nil
	})
	return fmt.Sprintf("%d bytes between it and the others were dropped so far", lost), err
}

// Mend ends the isolation, and any other fault of its proxies. An etcd server that is cut off does not end before that when it is asked to.
func (i *Isolation) Mend() {
	for _, p := range i.proxies {
		p.Mend()
	}
}

// Isolate cuts a member off. The cluster is one of [Stack.ProxiedEtcd]. The others' requests for its version are dropped, too; its own
// still pass, and they say nothing of keys.
func (e *Etcd) Isolate(ctx context.Context, m *Member) (*Isolation, error) {
	status, err := m.status(ctx)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(status.Header.MemberID, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s has no id: %w", m.Name, err)
	}
	i := &Isolation{name: m.Name}
	i.drop(m.Proxy)
	for _, other := range e.Members {
		if other != m {
			i.drop(other.Proxy, strconv.FormatUint(id, 16))
		}
	}
	return i, nil
}

// Isolate cuts a server off. It is one of [Stack.ProxiedZooKeeper].
func (n *ZooKeeperNode) Isolate() *Isolation {
	return Cut(n.Name, n.links...)
}

// Isolate cuts a node off from the other servers, and from the clients that reach it over its proxy. The topology is one of
// [Stack.ProxiedTopology], in processes. A node that follows another one still receives from it.
func (t *Topology) Isolate(ctx context.Context, n *Node) (*Isolation, error) {
	i := &Isolation{name: n.Name}
	if n.bus == nil {
		i.drop(n.Proxy)
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
	i.drop(n.Proxy)
	i.drop(n.bus)
	for _, other := range t.Nodes {
		if other != n {
			i.drop(other.bus, id)
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
	i := &Isolation{name: n.Name}
	i.drop(n.Proxy, ports...)
	return i
}

// Without is the topology for clients that must not be told the address of a node.
func (t *Topology) Without(n *Node) *Topology {
	rest := *t
	rest.Addrs = slices.DeleteFunc(slices.Clone(t.Addrs), func(addr string) bool { return addr == n.AnnouncedAddr() })
	return &rest
}
