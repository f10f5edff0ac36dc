package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// members knows the servers of a cluster by their ids: those in the first view of it that has all slots, and in each later view of one
// of these servers, with those that have no slots yet. A master that restarts empty has another id, and so has every server of another
// cluster at an address of this one. No command is sent to them.
//
// When no member has shown its view for abandonAfter, a server at an address of the configuration may belong to a new cluster, as after
// the loss of all servers' data. Then that cluster is taken.
//
// What is NOT guaranteed: the first view is taken from any server of the configuration, and a view without all slots teaches nothing. A
// server that is asked for its id when it is connected to may become another one's while the connection is open. A server that leaves the
// cluster and keeps its id is still a member.
type members struct {
	named []string // the addresses of the configuration

	mu   sync.Mutex
	ids  map[string]bool
	lost time.Time // when a server has first failed to show its view, since the last member that did; zero: none has failed
	last time.Time // when one has failed last
}

const (
	// abandonAfter is longer than a replica needs to replace its master, as all masters may be away together.
	abandonAfter = 10 * time.Second
	clusterSlots = 16384
)

// errNotMember says that the server at an address is not one of the cluster's.
const errNotMember = replies.NotYet("this server is not one of the cluster's")

// check refuses a new connection to a server that is no member.
func (n clusterNode) check(ctx context.Context, conn *redis.Conn) error {
	id, err := conn.Do(ctx, "CLUSTER", "MYID").Text()
	if refused := redis.Error(nil); errors.As(err, &refused) { // by a service or for a user that may not ask this
		if listed, failed := conn.ClusterNodes(ctx).Result(); failed == nil {
			id, _ = idsIn(listed)
			err = nil
		}
	}
	switch {
	case redis.HasErrorPrefix(err, "This instance has cluster support disabled"):
		return fmt.Errorf("%s: %w: it has no cluster", n.addr, errNotMember)
	case replies.MayHaveRun(err): // that was this question
		return fmt.Errorf("%w: %w", replies.ErrNotSent, err)
	case err != nil:
		return err
	case !n.members.has(id, n.addr):
		return fmt.Errorf("%s: %w: its id %s is new", n.addr, errNotMember, id)
	}
	return nil
}

func (m *members) has(id, addr string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids == nil || m.ids[id] || m.abandoned() && slices.Contains(m.named, addr)
}

// abandoned reports whether no member may be left. m.mu is held.
func (m *members) abandoned() bool { return m.last.Sub(m.lost) > abandonAfter }

// view asks a server for its view of the cluster. go-redis cannot read a view in which a server does not tell its host.
func (n clusterNode) view(ctx context.Context, slots *redis.ClusterSlotsCmd, next redis.ProcessHook) error {
	asked := redis.NewSliceCmd(ctx, slots.Args()...)
	err := n.convert(next(ctx, asked))
	var view []redis.ClusterSlot
	if err == nil {
		view, err = n.parse(asked.Val())
	}
	if err == nil {
		err = n.members.learn(view)
	}
	if err == nil {
		listed := redis.NewStringCmd(ctx, "CLUSTER", "NODES")
		if next(ctx, listed) == nil { // otherwise those without slots stay unknown
			_, ids := idsIn(listed.Val())
			n.members.add(ids)
		}
	}
	slots.SetVal(view)
	if err != nil {
		n.members.failed(ctx)
		err = fmt.Errorf("%s: the servers of the cluster: %w", n.addr, err)
	}
	slots.SetErr(err)
	return err
}

func (m *members) failed(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil { // the caller did not wait
		return
	}
	m.last = time.Now()
	if m.lost.IsZero() {
		m.lost = m.last
	}
}

// add adds the servers that a member knows.
func (m *members) add(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if m.ids != nil { // nil: no view had all slots yet
			m.ids[id] = true
		}
	}
}

// idsIn reads the reply to CLUSTER NODES: in each line an id, an address, and flags. It returns the id of the server that was asked, and
// those of all that the cluster has accepted.
func idsIn(listed string) (myself string, ids []string) {
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.Contains(fields[2], "handshake") || strings.Contains(fields[2], "noaddr") {
			continue
		}
		ids = append(ids, fields[0])
		if strings.Contains(fields[2], "myself") {
			myself = fields[0]
		}
	}
	return myself, ids
}

// learn adds the servers of a view. It refuses the view of another cluster.
func (m *members) learn(view []redis.ClusterSlot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	slots, known, ids := 0, false, make(map[string]bool)
	for _, r := range view {
		slots += r.End - r.Start + 1
		for _, node := range r.Nodes {
			ids[node.ID], known = true, known || m.ids[node.ID]
		}
	}
	switch {
	case slots == 0:
		return errors.New("it knows none with slots")
	case known:
		for id := range m.ids {
			ids[id] = true
		}
	case m.ids != nil && !m.abandoned():
		return errNotMember
	case slots < clusterSlots:
		return nil
	}
	m.ids, m.lost, m.last = ids, time.Time{}, time.Time{}
	return nil
}

// parse reads the reply to CLUSTER SLOTS: ranges with their first slot, their last one, the master, and its replicas.
func (n clusterNode) parse(reply []any) (view []redis.ClusterSlot, err error) {
	for _, entry := range reply {
		fields, _ := entry.([]any)
		if len(fields) < 3 {
			return nil, fmt.Errorf("they are not %v", entry)
		}
		first, _ := fields[0].(int64)
		last, _ := fields[1].(int64)
		slots := redis.ClusterSlot{Start: int(first), End: int(last)}
		for _, server := range fields[2:] {
			node, err := n.parseNode(server)
			if err != nil {
				return nil, err
			}
			slots.Nodes = append(slots.Nodes, node)
		}
		view = append(view, slots)
	}
	return view, nil
}

// parseNode reads a host, a port, an id, and perhaps more names of the server. The host is null, or empty, for the one that was asked. It
// is a question mark for a server without a name where servers are told by name. Then its address may be among the other names.
func (n clusterNode) parseNode(server any) (redis.ClusterNode, error) {
	fields, _ := server.([]any)
	if len(fields) < 3 {
		return redis.ClusterNode{}, fmt.Errorf("none is %v", server)
	}
	host, _ := fields[0].(string)
	port, _ := fields[1].(int64)
	id, _ := fields[2].(string)
	names, _ := fields[len(fields)-1].(map[any]any)
	if ip, told := names["ip"].(string); told && host == "?" {
		host = ip
	}
	return redis.ClusterNode{ID: id, Addr: n.addressOf(host, strconv.FormatInt(port, 10))}, nil
}
