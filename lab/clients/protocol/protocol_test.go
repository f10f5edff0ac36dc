package protocol_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/lab/clients/protocol"
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
		Protocol: 1, Name: "x", PID: 1, Store: "redis", LeaseMS: 1000,
		Renews: true, Tokens: true, Tells: true, Extends: true, Messages: true, Replica: true, Silent: true,
	}
	for _, line := range []any{
		protocol.Request{Type: protocol.Start, Servers: []string{"127.0.0.1:1"}, LeaseMS: 1000},
		protocol.Request{Type: protocol.Acquire, ID: "1", Key: "k", WaitMS: 1, LeaseMS: 1},
		protocol.Request{Type: protocol.Release, ID: "1"},
		protocol.Request{Type: protocol.Extend, ID: "1"},
		protocol.Request{Type: protocol.Stop},
		protocol.Answer{Type: protocol.Hello, Claims: &claims},
		protocol.Answer{Type: protocol.Ready},
		protocol.Answer{Type: protocol.Ready, Key: "4f2a"},
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
	if valid(`{"type":"acquire"}`) == nil {
		t.Error("the schema accepts a line that is none of the protocol")
	}
}

const greeting = `{"type":"hello","protocol":1,"name":"x","pid":1,"store":"redis"`

// A line that is no answer is refused with the name of the field and what it must be, and never with the words of Go's packages. The
// schema refuses it as well.
func TestParseRefuses(t *testing.T) {
	valid := schema(t)
	token := `it must be a whole number from 1 to 18446744073709551615, written as a string, such as "7"`
	for line, says := range map[string]string{
		`log: connected`:                 "no JSON object",
		`null`:                           "no JSON object",
		`{"type":"released","id":"a"}{}`: "no JSON object",
		`{"id":"a"}`:                     "it has no type; the types are error, granted",
		`{"type":"acquired","id":"1"}`:   `no answer has the type "acquired"; the types are error, granted`,
		`{"type":"granted"}`:             "granted needs the field id: a text that is not empty",
		`{"type":"error","id":"a"}`:      "error needs the field text",
		`{"type":"released","id":7}`:     "id is 7; it must be a text that is not empty",

		`{"type":"granted","id":"a","Token":"2"}`:    `granted has no field "Token"`,
		`{"type":"ready","id":"a"}`:                  `ready has no field "id"; its fields are key`,
		greeting + `,"renews":1}`:                    "renews is 1; it must be true or false",
		greeting + `,"waits_for_replica":"yes"}`:     `waits_for_replica is "yes"; it must be true or false`,
		`{"type":"granted","id":"a","token":"OK"}`:   `token is "OK"; ` + token,
		`{"type":"granted","id":"a","token":"0"}`:    token,
		`{"type":"granted","id":"a","token":7}`:      "token is 7; " + token,
		`{"type":"granted","id":"a","token":null}`:   "token is null; " + token,
		`{"type":"granted","id":"a","until_ms":-5}`:  "until_ms is -5; it must be a whole number from 0 to 86400000",
		`{"type":"granted","id":"a","until_ms":1.5}`: "until_ms is 1.5; it must be",

		greeting + `,"fixed_lease_ms":-1000}`: "fixed_lease_ms is -1000; it must be 0 or a whole number from 1000 to 10000",
		greeting + `,"fixed_lease_ms":10001}`: "fixed_lease_ms is 10001; it must be",

		`{"type":"hello"}`: "hello needs the field protocol",
		`{"type":"hello","protocol":2,"name":"x","pid":1,"store":"redis"}`: "protocol is 2; it must be 1, which this lab speaks",
		`{"type":"hello","protocol":1,"name":"x","pid":0,"store":"redis"}`: "pid is 0; it must be a whole number from 1",
		`{"type":"hello","protocol":1,"pid":1,"store":"redis"}`:            "hello needs the field name",
	} {
		_, err := protocol.Parse([]byte(line))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v does not say %q", line, err, says)
		}
		if valid(line) == nil {
			t.Errorf("the schema accepts %s", line)
		}
	}
	if _, err := protocol.Parse([]byte(`{"type":"granted","id":"a","token":"18446744073709551616"}`)); err == nil {
		t.Error("a token that is larger than any uint64 is accepted")
	}
}

// A whole number is one however JSON writes it, and the largest values are accepted.
func TestParseAcceptsWholeNumbers(t *testing.T) {
	valid := schema(t)
	claims := &protocol.Claims{Protocol: 1, Name: "x", PID: 4711, Store: "redis", LeaseMS: 2000}
	for line, want := range map[string]protocol.Answer{
		`{"type":"granted","id":"a","until_ms":950.0}`:               {Type: protocol.Granted, ID: "a", UntilMS: 950},
		`{"type":"granted","id":"a","until_ms":1e3}`:                 {Type: protocol.Granted, ID: "a", UntilMS: 1000},
		`{"type":"granted","id":"a","until_ms":86400000}`:            {Type: protocol.Granted, ID: "a", UntilMS: 86_400_000},
		`{"type":"granted","id":"a","token":"18446744073709551615"}`: {Type: protocol.Granted, ID: "a", Token: math.MaxUint64},
		`{"type":"ready","key":"4f2a"}`:                              {Type: protocol.Ready, Key: "4f2a"},
		`{"type":"hello","protocol":1.0,"name":"x","pid":4.711e3,"store":"redis","fixed_lease_ms":2e3}`: {
			Type: protocol.Hello, Claims: claims,
		},
	} {
		got, err := protocol.Parse([]byte(line))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v", line, got, err)
		}
		if err := valid(line); err != nil {
			t.Errorf("the schema refuses %s: %v", line, err)
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
		_ = protocol.Serve(in, out, protocol.Claims{Name: "x", Store: "redis", Key: "4f2a"}, func(protocol.Request) (protocol.Lock, error) {
			return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
				if !free {
					<-ctx.Done()
					return protocol.Held{}, ctx.Err()
				}
				free = false
				release := func(context.Context) error { return fmt.Errorf("too late: %w", protocol.ErrNotHeld) }
				return protocol.Held{Token: 7, Until: -time.Second, Lost: lost, Release: release}, nil
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
	next(`{"type":"start","servers":["127.0.0.1:1"],"lease_ms":1000}`, `"key":"4f2a"`)
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
