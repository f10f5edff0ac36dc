package anatomy

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/explore/wire"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L17 = Experiments.Add(lab.Experiment{
	ID:       "L17-released-after-expiry",
	Articles: lab.Articles{"A1"},
	Claim:    "A1's trace of a release shows a lock that had already expired: another client could have held it in between.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Takes: 6 * time.Second},
	Check:    history.Counter,
	Variants: []lab.Variant{
		{Name: "short work", Trials: 2, Run: monitored(300*time.Millisecond, "exists hexists hincrby del publish", "", "B B B B")},
		{Name: "the times of the trace", Trials: 2, Run: monitored(tracedWork, "exists publish", "…", "B B B B")},
		{
			Name: "the times of the trace, B in the gap", Expect: lab.Sometimes, Trials: 2,
			Run: monitored(tracedWork, "exists publish", "… B B B B", ""),
		},
		{
			Name: "the same times, renewed: v3", Strategy: "v3", Anomaly: clients.RenewedLease, Trials: 2,
			Run: clients.WorkBesideWaiter(tracedLease, tracedWork, 0),
		},
	},
})

// The times of A1's trace.
const (
	tracedLease = 1000 * time.Millisecond
	tracedWork  = 1440 * time.Millisecond
)

// monitored lets A lock, read, work for so long, write, and release. gap is what happens before the end of its work, and after
// comes after its release. The release of A must execute the commands that are wanted, as MONITOR shows them.
func monitored(work time.Duration, wanted, gap, after string) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		m := startMonitor(ctx, x)
		w := explore.New(articlelock.Redisson, wire.Redis{Client: x.Conn}, x.Scaled(tracedLease), "AB", x.Record)
		move := func(moves string) (executed []string) { // by the last one
			for _, move := range explore.Moves(moves) {
				x.Must(w.Move(ctx, move))
				executed = m.executed(ctx)
			}
			return executed
		}
		move("A A")
		end := time.After(x.Scaled(work))
		move(gap)
		<-end
		move("A")
		if executed := strings.Join(move("A"), " "); executed != wanted {
			x.Must(fmt.Errorf("the release of A executed %q and not %q", executed, wanted))
		}
		move(after)
		x.Must(w.End(ctx))
	})
}

// monitor reads what MONITOR shows of the commands of scripts, over a connection that sends nothing else.
type monitor struct {
	*clients.Redis
	lines *bufio.Scanner
	marks int
}

func startMonitor(ctx context.Context, x *clients.Redis) *monitor {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", x.Node.Addr)
	x.Must(err)
	x.Cleanup(conn.Close)
	_, err = conn.Write([]byte("MONITOR\r\n"))
	x.Must(err)
	m := &monitor{Redis: x, lines: bufio.NewScanner(conn)}
	if !m.lines.Scan() || m.lines.Text() != "+OK" {
		x.Must(fmt.Errorf("the server refuses MONITOR: %q, %w", m.lines.Text(), m.lines.Err()))
	}
	return m
}

// executed records the commands that scripts have executed since the last call, and returns their names. An ECHO marks the end.
func (m *monitor) executed(ctx context.Context) (names []string) {
	m.marks++
	mark := fmt.Sprintf("mark %d", m.marks)
	m.Must(m.Conn.Echo(ctx, mark).Err())
	for m.lines.Scan() && !strings.Contains(m.lines.Text(), mark) {
		if _, command, script := strings.Cut(m.lines.Text(), " lua] "); script {
			m.Record(history.Event{Timeline: "MONITOR", Kind: history.Command, Text: command})
			names = append(names, strings.Trim(strings.Fields(command)[0], `"`))
		}
	}
	m.Must(m.lines.Err())
	return names
}
