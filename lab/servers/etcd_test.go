//go:build unix

package servers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// A leader that is killed or paused is replaced. Without a majority nobody serves.
func TestEtcdElectsAnotherLeader(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	ctx := testenv.Context(t)
	e, err := testenv.Stack(t).Etcd(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	first := leader(t, e)
	testenv.Eventually(t, "one member leads, and none of the others", func() bool {
		first = leader(t, e) // a stall may have made another one the leader
		others := servers.Etcd{Members: without(e.Members, first)}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := others.Leader(short)
		return err != nil
	})
	first.Kill()
	second := leader(t, e)
	if second == first {
		t.Fatalf("%s was killed, and leads", first)
	}
	if proof, err := first.Restart(ctx); err != nil || !strings.Contains(proof, "has ended") { // it waits until the member has joined
		t.Fatal(proof, err)
	}
	testenv.Pause(t, second)
	third := leader(t, e)
	if third == second {
		t.Fatalf("%s is paused, and leads", second)
	}
	second.Resume()
	for _, m := range e.Members {
		select {
		case <-m.Done():
			t.Errorf("%s has ended", m)
		default:
		}
	}
	third = leader(t, e)
	for _, m := range without(e.Members, third) {
		m.Kill()
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if m, err := e.Leader(short); !errors.Is(err, context.DeadlineExceeded) { // whatever the last one still says
		t.Errorf("without a majority %v leads (%v)", m, err)
	}
}

// A member keeps what it has written when it is restarted, until it loses its disk.
func TestEtcdLosesItsDisk(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	ctx := testenv.Context(t)
	e, err := testenv.Stack(t).Etcd(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	member := e.Members[0]
	if text := gateway(t, member, "kv/put", `{"key": "YQ==", "value": "YQ=="}`); !strings.Contains(text, "revision") {
		t.Fatal(text)
	}
	for _, c := range []struct {
		before func() error
		kept   bool
	}{{func() error { return nil }, true}, {member.LoseDisk, false}} {
		if err := c.before(); err != nil {
			t.Fatal(err)
		}
		if _, err := member.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if text := gateway(t, member, "kv/range", `{"key": "YQ=="}`); strings.Contains(text, `"kvs"`) != c.kept {
			t.Errorf("kept: %t, and it has %s", c.kept, text)
		}
	}
}

// gateway is the answer of a member to a request of its gateway for JSON.
func gateway(t *testing.T, m *servers.Member, path, request string) string {
	t.Helper()
	answer, err := http.Post("http://"+m.Addr+"/v3/"+path, "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func leader(t *testing.T, e *servers.Etcd) *servers.Member {
	t.Helper()
	m, err := e.Leader(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
