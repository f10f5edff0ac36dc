//go:build unix

package main

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/topology"
)

// Two instances share a limit, a log and a Redis. Each one calls its own stand-in for the supplier over HTTP.
func TestInstancesShareALimit(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		a := startInstance(t, node, "--supplier-limit=3")
		b := startInstance(t, node, "--supplier-limit=3")
		for n := range 4 {
			url := []string{a.URL, b.URL}[n%2] + "/r4/supplier/call"
			status, header, body := ask(t, http.MethodPost, url)
			switch {
			case n < 3 && (status != http.StatusOK || header.Get("RateLimit-Remaining") != []string{"2", "1", "0"}[n]):
				t.Errorf("call %d: %d %v %s", n, status, header, body)
			case n < 3 && header.Get("RateLimit-Policy") != "3;w=61": // the window of a minute and 250 ms of transit, rounded up
				t.Errorf("call %d: the policy is %q", n, header.Get("RateLimit-Policy"))
			case n == 3 && (status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(body, "come back in")):
				t.Errorf("call %d: %d %v %s", n, status, header, body)
			}
		}
		const want = `{"calls":3,"limit":3,"window_ms":60000,"most_in_one_window":3,"over":0}`
		if _, _, body := ask(t, http.MethodGet, b.URL+"/supplier/r4/rates"); body != want+"\n" {
			t.Errorf("the supplier reports %s, want %s", body, want)
		}
		for n := range 6 { // quotes have their own limit: five in five seconds
			want := http.StatusOK
			if n == 5 {
				want = http.StatusTooManyRequests
			}
			status, header, body := ask(t, http.MethodGet, []string{a.URL, b.URL}[n%2]+"/r5/quotes")
			if policy := header.Get("RateLimit-Policy"); status != want || policy != "5;w=5" {
				t.Errorf("quote %d: %d %s, want %d; the policy is %q", n, status, body, want, policy)
			}
		}
	})
}

// --supplier replaces the stand-in.
func TestSupplierFlag(t *testing.T) {
	t.Parallel()
	listening := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	for flag, want := range map[string]string{
		"": "http://127.0.0.1:80", "http://supplier:81": "http://supplier:81", "https://supplier": "https://supplier",
	} {
		f := limitFlags{Supplier: flag, SupplierLimit: 24, SupplierWindow: time.Minute, Nodes: 1}
		limited, err := f.open(t.Context(), &parts{redis: new(topology.Redis)}, listening)
		if err := errors.Join(err, f.validate()); err != nil || limited.URL != want {
			t.Errorf("--supplier=%s: %s, %v; want %s", flag, limited.URL, err, want)
		}
	}
}

// When Redis is down, closed refuses the call and open makes it. The stand-in cannot serve it, because its log is in the same Redis.
func TestLimitersFail(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	closed, open := startInstance(t, node), startInstance(t, node, "--limiter-fails=open")
	node.Kill()
	for url, want := range map[string]int{closed.URL: http.StatusServiceUnavailable, open.URL: http.StatusOK} {
		status, header, body := ask(t, http.MethodGet, url+"/r3/quotes")
		if remaining := header.Get("RateLimit-Remaining"); status != want || remaining != "" { // the calls were not counted
			t.Errorf("%d %s, want %d; RateLimit-Remaining is %q", status, body, want, remaining)
		}
	}
	if status, _, body := ask(t, http.MethodPost, open.URL+"/r3/supplier/call"); status != http.StatusBadGateway {
		t.Errorf("%d %s", status, body)
	}
}

func TestLimitFlagsMisuse(t *testing.T) {
	for flag, want := range map[string]string{
		"--supplier-limit=0": "must be 1 to", "--supplier-limit=-1": "must be 1 to", "--supplier-window=0s": "must be 1ms to",
		"--supplier-window=1500us": "whole milliseconds", "--nodes=0": "--nodes", "--supplier=localhost:80": "http://host:port",
		"--supplier=http://": "http://host:port", "--limiter-fails=maybe": "closed",
	} {
		wantSentence(t, app(t.Context(), "serve", flag), exitUsage, want)
	}
}

func TestAddressesOfAListener(t *testing.T) {
	for listening, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:81": "127.0.0.1:81", "[::]:82": "127.0.0.1:82", "[::1]:83": "[::1]:83",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listening)
		if err != nil {
			t.Fatal(err)
		}
		if got := localAddr(listening); got != want {
			t.Errorf("localAddr(%q) = %s, want %s", listening, got, want)
		}
		from, err := net.ResolveTCPAddr("tcp", lanAddr(addr)) // from another machine
		if err != nil || from.IP.IsUnspecified() || from.Port != addr.Port || !addr.IP.IsUnspecified() && !from.IP.Equal(addr.IP) {
			t.Errorf("lanAddr(%s) = %s (%v)", listening, from, err)
		}
	}
}
