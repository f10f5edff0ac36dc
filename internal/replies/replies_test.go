package replies_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// reply is an error that a server has replied, as [redis.Error].
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var _ redis.Error = reply("")

// The reply of a slot that is moving is explained, and is still that reply. Others stay as they are.
func TestExplain(t *testing.T) {
	moving, other := reply("TRYAGAIN Multiple keys request during rehashing of slot"), io.EOF
	if err := replies.Explain(moving); err.Error() != "a slot of the cluster is moving: "+string(moving) || !errors.Is(err, moving) {
		t.Error(err)
	}
	if !errors.Is(replies.Explain(other), other) || replies.Explain(other).Error() != other.Error() || replies.Explain(nil) != nil {
		t.Error("another error is explained")
	}
}

func TestWhatAnErrorMeansForTheCommand(t *testing.T) {
	for _, c := range []struct {
		err                error
		notNow, mayHaveRun bool
	}{
		{nil, false, false},
		{reply("MOVED 7 127.0.0.1:7"), true, false},
		{reply("ASK 7 127.0.0.1:7"), true, false},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), true, false},
		{reply("CLUSTERDOWN Hash slot not served"), true, false},
		{reply("READONLY You can't write against a read only replica."), true, false},
		{reply("LOADING Redis is loading the dataset in memory"), true, false},
		{reply("MASTERDOWN Link with MASTER is down"), true, false},
		{reply("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), true, false},
		{reply("BUSYKEY Target key name already exists."), false, false},
		{reply("OOM command not allowed"), false, false},
		{reply("MISCONF Redis is configured to save RDB snapshots"), false, false},
		{reply("NOREPLICAS Not enough good replicas to write."), false, false},
		{redis.Nil, false, false},
		{&net.OpError{Op: "dial", Err: io.EOF}, false, false},
		{&net.OpError{Op: "read", Err: io.EOF}, false, true},
		{fmt.Errorf("%w: %w", replies.ErrNotSent, &net.OpError{Op: "read", Err: io.EOF}), false, false},
		{redis.ErrPoolTimeout, false, false},
		{fmt.Errorf("%w: %w", replies.NotYet("no master"), io.EOF), true, false},
		{errors.New("anything else"), false, true},
	} {
		if replies.NotNow(c.err) != c.notNow || replies.MayHaveRun(c.err) != c.mayHaveRun {
			t.Errorf("%v: not now %t, may have run %t; want %t, %t",
				c.err, replies.NotNow(c.err), replies.MayHaveRun(c.err), c.notNow, c.mayHaveRun)
		}
	}
}
