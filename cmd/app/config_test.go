package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// The error of a wrong setting names the setting, its value, and what is allowed.
func TestWrongSettings(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"serve --topology ring", []string{"--topology", "ring", "single", "cluster"}},
		{"serve --listen", []string{"--listen", "expected string value"}},
		{"serve --listen 8080", []string{"--listen", `"8080"`, "host:port"}},
		{"serve --listen 127.0.0.1:99999", []string{"--listen", "99999", "65535"}},
		{"serve --redis localhost", []string{"--redis", "localhost", "host:port"}},
		{"serve --redis=", []string{"--redis is empty"}},
		{"serve --redis a:1,b:2", []string{"--redis", "2 addresses", "--topology single"}},
		{"serve --redis 127.0.0.1:0", []string{"--redis", "127.0.0.1:0", "port"}},
		{"serve --topology sentinel --sentinel-master=", []string{"--sentinel-master", "empty"}},
		{"serve --redlock a:1,b:2", []string{"--redlock", "2 addresses", "at least 3"}},
		{"serve --redlock a:1,b:2,b:2", []string{"--redlock", "b:2", "once"}},
		{"serve --redis a:1 --redlock a:1,b:2,c:3", []string{"--redlock", "a:1", "--redis"}},
		{"serve --redis 127.0.0.1:1 --redlock localhost:1,b:2,c:3", []string{"--redlock", "localhost:1", "--redis", "127.0.0.1:1"}},
		{"serve --redlock localhost:1,127.0.0.1:1,c:3", []string{"--redlock", "localhost:1", "127.0.0.1:1", "once"}},
		{"serve --zookeeper localhost", []string{"--zookeeper", "localhost", "host:port"}},
		{"serve --zookeeper localhost:1,127.0.0.1:1,c:3", []string{"--zookeeper", "localhost:1", "127.0.0.1:1", "once"}},
		{"serve --etcd http://localhost:2379", []string{"--etcd", "http://localhost:2379", "host:port"}},
		{"serve --etcd localhost:1,127.0.0.1:1,c:3", []string{"--etcd", "localhost:1", "127.0.0.1:1", "once"}},
		{"serve --database postgres://root:hush", []string{"--database", "postgres:***", "sqlite:PATH"}},
		{"serve --database mysql:root:hush@nonsense", []string{"--database", "mysql:***", "user:password@tcp(host:port)/name"}},
		{"serve --lease 5", []string{"--lease", "5"}},
		{"serve --lease=-5s", []string{"--lease is -5s", "100ms", "1h"}},
		{"demo --users=-2", []string{"--users is -2"}},
		{"serve --lease 1ms", []string{"--lease", "1ms", "100ms", "1h"}},
		{"serve --request 7s", []string{"--request is 7s", "two thirds", "10s"}},
		{"serve --request=-1s", []string{"--request is -1s", "10s"}},
		{"serve --node-timeout 7s", []string{"--node-timeout is 7s", "two thirds", "10s"}},
		{"serve --node-timeout=-1s", []string{"--node-timeout is -1s", "10s"}},
		{"serve --wait 0s", []string{"--wait", "0s", "1ms"}},
		{"serve --wait 2h", []string{"--wait", "2h", "1h"}},
		{"serve --order-think=-1s", []string{"--order-think is -1s", "from 0s to 1h"}},
		{"serve --cache-ttl 0s", []string{"--cache-ttl", "0s", "10ms"}},
		{"serve --item-query=-1s", []string{"--item-query is -1s", "from 0s to 1h"}},
		{"serve --start-timeout 0s", []string{"--start-timeout", "0s"}},
		{"serve --log-format xml", []string{"--log-format", "xml", "text", "json"}},
		{"serve --log-level loud", []string{"--log-level", "loud", "debug"}},
		{"serve --instance " + strings.Repeat("x", 65), []string{"--instance", "65", "64"}},
		{"serve --lisen x", []string{"--lisen", "did you mean", "--listen"}},
		{"serve extra", []string{"extra"}},
		{"sreve", []string{"sreve", "serve"}},
		{"demo --users 1", []string{"--users", "1", "2"}},
		{"demo --users 667", []string{"--users is 667", "even"}},
		{"demo --drivers 3", []string{"--drivers is 3", "even"}},
		{"demo --versions v1,v1", []string{"--versions", "v1", "twice"}},
		{"demo --users many", []string{"--users", "many"}},
		{"demo --rounds 0", []string{"--rounds", "0", "1"}},
		{"demo --versions v1,v99", []string{"--versions", "v99", "v4"}},
		{"demo --topology star", []string{"--topology", "star", "cluster"}},
		{"demo --think 1m", []string{"--think is 1m", "from 0s to 10s"}},
		{"demo --listen nowhere", []string{"--listen", "nowhere", "host:port"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			got := app(t.Context(), strings.Fields(c.args)...)
			wantSentence(t, got, exitUsage, c.want...)
			if strings.Contains(got.err, "hush") {
				t.Errorf("the error has a password: %s", got.err)
			}
		})
	}
}

// Lists drop the spaces around their items, on the command line and in variables. An empty item is an error.
func TestListsAreTrimmed(t *testing.T) {
	wantSentence(t, app(t.Context(), "serve", "--redlock", " a:1 , b:2,b:2 "), exitUsage, "--redlock", "as b:2 and b:2;")
	t.Setenv("LAB_REDLOCK", "a:1, b:2,\tb:2\n")
	wantSentence(t, app(t.Context(), "serve"), exitUsage, "--redlock", "as b:2 and b:2;")
	t.Setenv("LAB_REDLOCK", "")
	for _, args := range [][]string{
		{"serve", "--redlock", "a:1,,b:2"},
		{"serve", "--addr-map", "a=b, ,c=d"},
		{"serve", "--zookeeper", " ,a:1"},
		{"demo", "--versions", "v1, ,v2"},
		{"demo", "--versions", "v1, "},
		{"doctor", "--skip", "k6,,jmeter"},
		{"lab", "topologies", "--tools", "ours, ,k6"},
		{"lab", "try", "--only", "T01,,T02", "--", "x"},
	} {
		wantSentence(t, app(t.Context(), args...), exitUsage, "of the list is empty; write one comma between two items")
	}
	wantSentence(t, app(t.Context(), "demo", "--versions", "v1 , v99"), exitUsage, "--versions", `"v99"`)
}

// A misspelled variable is a warning, not an error, because it may belong to another program.
func TestUnknownVariable(t *testing.T) {
	for name, warns := range map[string]bool{"LAB_LAESE": true, "LAB_WAIT": false, "LAB_NET": false, "LAB_REQUIRE": false, "LABEL": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1s")
			got := app(t.Context(), "lab", "show", "L03")
			if got.code != exitOK || strings.Contains(got.err, name) != warns || !warns && got.err != "" {
				t.Errorf("exit %d: %q", got.code, got.err)
			}
		})
	}
}

// A variable that tests read must not set a flag, because it would change the commands that the tests run.
func TestVariablesOfTestsAreNoFlags(t *testing.T) {
	parser, err := newParser(t.Context(), streams{io.Discard, io.Discard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range flagVariables(parser.Model.Node) {
		if slices.Contains(otherVariables, variable) {
			t.Errorf("%s is read by tests but sets a flag", variable)
		}
	}
}

// wantSentence checks that a run ended with code, and printed nothing but one line of error that has every word.
func wantSentence(t *testing.T, got output, code int, words ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit %d, want %d", got.code, code)
	}
	if got.out != "" || strings.Count(got.err, "\n") != 1 {
		t.Errorf("want one line of error, got %q, %q", got.out, got.err)
	}
	for _, word := range words {
		if !strings.Contains(got.err, word) {
			t.Errorf("%q is missing in %q", word, got.err)
		}
	}
}
