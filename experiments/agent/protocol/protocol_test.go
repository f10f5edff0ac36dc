package protocol_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/experiments/agent/protocol"
)

func schema(t *testing.T) func(line string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(protocol.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(line string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			return err
		}
		return s.Validate(value)
	}
}

// Each line that the Go types write is one of the schema.
func TestTheSchemaAndTheTypesAgree(t *testing.T) {
	valid := schema(t)
	claims := protocol.Claims{
		Protocol: 1, Name: "x", PID: 1, Store: "redis", LeaseMS: 1,
		Renews: true, Tokens: true, Tells: true, Extends: true, Messages: true,
	}
	for _, line := range []any{
		protocol.Request{Type: protocol.Start, Servers: []string{"127.0.0.1:1"}, LeaseMS: 1000},
		protocol.Request{Type: protocol.Acquire, ID: "1", Key: "k", WaitMS: 1, LeaseMS: 1},
		protocol.Request{Type: protocol.Release, ID: "1"},
		protocol.Request{Type: protocol.Extend, ID: "1"},
		protocol.Request{Type: protocol.Stop},
		protocol.Answer{Type: protocol.Hello, Claims: &claims},
		protocol.Answer{Type: protocol.Ready},
		protocol.Answer{Type: protocol.Granted, ID: "1", Token: 1 << 63, UntilMS: 1},
		protocol.Answer{Type: protocol.Refused, ID: "1", Reason: "r"},
		protocol.Answer{Type: protocol.Lost, ID: "1", Reason: "r"},
		protocol.Answer{Type: protocol.Released, ID: "1"},
		protocol.Answer{Type: protocol.NotHeld, ID: "1"},
		protocol.Answer{Type: protocol.Error, ID: "1", Text: "t"},
	} {
		text, err := json.Marshal(line)
		if err == nil {
			err = valid(string(text))
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if valid(`{"type":"granted","id":"1","tokens":"2"}`) == nil || valid(`{"type":"acquire"}`) == nil {
		t.Error("the schema accepts a line that is none of the protocol")
	}
}

// A line that is no answer is refused with a sentence, and the schema refuses it as well.
func TestParseRefuses(t *testing.T) {
	valid := schema(t)
	for line, says := range map[string]string{
		`{"type":"granted","id":"a","token":"OK"}`: "its token must be a positive whole number",
		`log: connected`:               "no JSON object",
		`[]`:                           "no JSON object",
		`{"type":"acquired","id":"1"}`: `no answer has the type "acquired"`,
		`{"type":"granted"}`:           "needs the id",
		`{"type":"hello"}`:             "needs protocol, name, pid and store",
		`{"type":"hello","protocol":2,"name":"x","pid":1,"store":"redis"}`:                  "speaks 1",
		`{"type":"hello","protocol":1,"name":"x","pid":1,"store":"consul"}`:                 "allowed are redis, redlock, database",
		`{"type":"hello","protocol":1,"name":"x","pid":0,"store":"redis"}`:                  "the pid of the process",
		`{"type":"hello","protocol":1,"pid":1,"store":"redis"}`:                             "hello needs a name",
		`{"type":"hello","protocol":1,"name":"x","pid":1,"store":"redis","tell_loss":true}`: `unknown field "tell_loss"`,
		`{"type":"released","id":"a"}{}`:                                                    "more than one object",
	} {
		if _, err := protocol.Parse([]byte(line)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", line, err, says)
		}
		if valid(line) == nil {
			t.Errorf("the schema accepts %s", line)
		}
	}
}

// A program in Go that uses Serve sends nothing but lines of the schema, whatever its lock does.
func TestServe(t *testing.T) {
	valid := schema(t)
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	lost := make(chan string, 1)
	free := true
	go func() {
		_ = protocol.Serve(in, out, protocol.Claims{Name: "x", Store: "redis"}, func(protocol.Request) (protocol.Lock, error) {
			return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
				if !free {
					<-ctx.Done()
					return protocol.Held{}, ctx.Err()
				}
				free = false
				release := func(context.Context) error { return fmt.Errorf("too late: %w", protocol.ErrNotHeld) }
				return protocol.Held{Token: 7, Lost: lost, Release: release}, nil
			}, nil
		})
		out.Close()
	}()
	read := json.NewDecoder(answers)
	next := func(request, wanted string) {
		t.Helper()
		if request != "" {
			if err := valid(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(requests, request+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		var line json.RawMessage
		if err := read.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if err := valid(string(line)); err != nil || !bytes.Contains(line, []byte(wanted)) {
			t.Fatalf("%s is not %s: %v", line, wanted, err)
		}
	}
	next("", `"hello"`)
	next(`{"type":"start","servers":["127.0.0.1:1"],"lease_ms":1000}`, `"ready"`)
	next(`{"type":"acquire","id":"1","key":"k"}`, `"token":"7"`)
	next(`{"type":"acquire","id":"2","key":"k","wait_ms":1}`, `"refused"`)
	lost <- "it expired"
	next("", `"lost"`)
	next(`{"type":"release","id":"1"}`, `"not_held"`)
	next(`{"type":"extend","id":"9"}`, `"not_held"`)
	_, _ = io.WriteString(requests, `{"type":"stop"}`+"\n")
	if _, err := answers.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after stop: %v", err)
	}
}
