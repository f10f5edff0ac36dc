package limits

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// callBySpring runs A0's aspect three times with Spring Data Redis, whose RedisTemplate has these serializers, and looks at the counter.
func callBySpring(serializers string) func(context.Context, *clients.Redis) {
	return func(ctx context.Context, x *clients.Redis) {
		host, port, err := net.SplitHostPort(x.Node.Addr)
		x.Must(err)
		argv, err := servers.ArticlesCommand(servers.Redisson, "RateLimit", host, port, serializers)
		x.Must(err)
		program, err := x.Stack.Program("spring", argv...)
		x.Must(err)
		x.Cleanup(program.Out.Close)
		made, failed, lines := 0, false, bufio.NewScanner(program.Out)
		for lines.Scan() {
			step, answer, _ := strings.Cut(lines.Text(), "\t")
			switch step {
			case "made":
				made++
				continue
			case "failed":
				step, failed = "the call", true
			}
			x.Record(history.Event{Timeline: "node-1", Kind: history.Command, Text: step + " → " + answer})
		}
		x.Must(errors.Join(lines.Err(), program.In.Close()))
		if made == 0 && !failed {
			x.Must(fmt.Errorf("it has said nothing of a call: %s", strings.Join(program.LastLines(3), " | ")))
		}
		x.Measure("node-1", int64(made), lab.Count.Of("calls that were made, of 3"))
		lookAtCounter(ctx, x, failed)
	}
}

// lookAtCounter notes the only key and its life. Spring's default serializer writes the key's name as a Java object.
func lookAtCounter(ctx context.Context, x *clients.Redis, failed bool) {
	keys, err := x.Conn.Keys(ctx, "*").Result()
	x.Must(err)
	if len(keys) != 1 {
		x.Must(fmt.Errorf("there are %d keys, not one: %q", len(keys), keys))
	}
	value, err := x.Conn.Get(ctx, keys[0]).Result()
	x.Must(err)
	ttl, err := x.Conn.Do(ctx, "PTTL", keys[0]).Int()
	x.Must(err)
	x.Note("Redis", fmt.Sprintf("GET %q → %s, PTTL → %d", keys[0], value, ttl))
	if failed && ttl == -1 {
		x.Record(keptWrite.On(history.Event{Timeline: "Redis", Kind: history.Left, Key: "counter"}))
	}
}
