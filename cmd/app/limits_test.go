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
	testenv.Slow(t)
	running := pair(t)
	for n := range 4 {
		status, header, body := ask(t, http.MethodPost, running.Instances[n%2].URL+"/r4/supplier/call")
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
	if _, _, body := ask(t, http.MethodGet, running.URL+"/supplier/r4/rates"); body != want+"\n" {
		t.Errorf("the supplier reports %s, want %s", body, want)
	}
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

// By default, a limiter refuses the calls while Redis is down.
func TestALimiterFailsClosed(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, false)
	instance := startInstance(t, node)
	node.Kill()
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/r3/quotes"); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, body)
	}
}

// An unspecified address, such as 0.0.0.0, is replaced: not every system can send a request to it.
func TestAddressesOfAListener(t *testing.T) {
	for listening, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:81": "127.0.0.1:81", "[::]:82": "127.0.0.1:82", ":83": "127.0.0.1:83", "[::1]:84": "[::1]:84",
		"localhost:85": "localhost:85",
	} {
		if got := localAddr(listening); got != want {
			t.Errorf("localAddr(%q) = %s, want %s", listening, got, want)
		}
		addr, err := net.ResolveTCPAddr("tcp", listening)
		if err != nil {
			t.Fatal(err)
		}
		from, err := net.ResolveTCPAddr("tcp", lanAddr(addr)) // from another machine
		anywhere := addr.IP == nil || addr.IP.IsUnspecified()
		if err != nil || from.IP.IsUnspecified() || from.Port != addr.Port || !anywhere && !from.IP.Equal(addr.IP) {
			t.Errorf("lanAddr(%s) = %s (%v)", listening, from, err)
		}
	}
}
