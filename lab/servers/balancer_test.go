//go:build unix

package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// A path with a handler of its own goes to no instance and does not count.
func TestBalancerHalvesExactly(t *testing.T) {
	var seen [2]int
	var instances []*servers.Instance
	for i := range seen {
		addr := serveHTTP(t, func(http.ResponseWriter, *http.Request) { seen[i]++ }) // one request at a time
		instances = append(instances, &servers.Instance{URL: "http://" + addr})
	}
	balancer, err := testenv.Stack(t).Balance("127.0.0.1:0", instances...)
	if err != nil {
		t.Fatal(err)
	}
	balancer.Handle("/ui/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "the page ", r.URL.Path) }))
	for range 50 {
		for path, want := range map[string]string{"/ui/events": "the page /ui/events", "/pview": ""} {
			response, err := http.Get(balancer.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if string(body) != want {
				t.Errorf("%s answers %q", path, body)
			}
		}
	}
	if seen != [2]int{25, 25} {
		t.Fatalf("the instances got %v of 50 requests", seen)
	}
}

// A request that is repeated at the other instance counts twice.
func TestBalancerRepeatsNothing(t *testing.T) {
	reached := 0
	alive := serveHTTP(t, func(http.ResponseWriter, *http.Request) { reached++ })
	instances := []*servers.Instance{{URL: "http://127.0.0.1:1"}, {URL: "http://" + alive}}
	balancer, err := testenv.Stack(t).Balance("127.0.0.1:0", instances...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{http.StatusBadGateway, http.StatusOK, http.StatusBadGateway} {
		response, err := http.Get(balancer.URL)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Fatalf("request %d: %s, want %d", i, response.Status, want)
		}
	}
	if reached != 1 {
		t.Fatalf("the instance that lives got %d requests of 3, want its one", reached)
	}
}

// net/http repeats a GET whose kept connection breaks before the answer. A GET counts here.
func TestBalancerRepeatsNoGET(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	requests := make(chan struct{}, 10)
	go answerOncePerConnection(listener, requests)
	balancer, err := testenv.Stack(t).Balance("127.0.0.1:0", &servers.Instance{URL: "http://" + listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusOK, http.StatusBadGateway} {
		response, err := http.Get(balancer.URL)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s, want %d", response.Status, want)
		}
	}
	if n := len(requests); n != 2 {
		t.Errorf("two GETs reached the instance as %d", n)
	}
}

// An instance ends the connection of a body that is too long, and then its answer can be lost. So the balancer refuses such a body.
func TestBalancerRefusesALongBody(t *testing.T) {
	instance := serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	balancer, err := testenv.Stack(t).Balance("127.0.0.1:0", &servers.Instance{URL: "http://" + instance})
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{0: http.StatusOK, 16 << 10: http.StatusOK, 16<<10 + 1: 413, 1 << 20: 413} {
		for _, body := range []io.Reader{strings.NewReader(strings.Repeat("7", size)), io.LimitReader(sevens{}, int64(size))} { // sized, chunked
			response, err := http.Post(balancer.URL, "", body)
			if err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode != want || err != nil || want == 413 && string(said) != `{"error":"the body is longer than 16384 bytes"}` {
				t.Errorf("%d bytes: %s, %s, %v", size, response.Status, said, err)
			}
		}
	}
}

// sevens is an endless body.
type sevens struct{}

func (sevens) Read(p []byte) (int, error) { return copy(p, "7777777777777777"), nil }

// answerOncePerConnection closes each connection when it has read a second request. It counts every request.
func answerOncePerConnection(listener net.Listener, requests chan<- struct{}) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		lines := bufio.NewReader(connection)
		for answers := 0; ; answers++ {
			if _, err := http.ReadRequest(lines); err != nil {
				break
			}
			requests <- struct{}{}
			if answers == 1 {
				break
			}
			fmt.Fprint(connection, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
		connection.Close()
	}
}

func serveHTTP(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return listener.Addr().String()
}
