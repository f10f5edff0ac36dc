package handlers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/handlers"
	"locklab/internal/testenv"
)

// padded is a body of n bytes that sets the counter to 1.
func padded(n int) string {
	const set = `{"value":1}`
	return set + strings.Repeat(" ", n-len(set))
}

func TestBodiesHaveABound(t *testing.T) {
	s := serve(t)
	for _, size := range []int{11, 4095, 4096} {
		if got := s.ask(http.MethodPut, "/pview", padded(size)); got.status != http.StatusOK {
			t.Errorf("%d bytes: %d %s", size, got.status, got.body)
		}
	}
	s.views.value = 7
	for _, size := range []int{4097, 5000, 1 << 20} {
		for _, line := range []string{
			"PUT /pview", "POST /v1/pview", "GET /v1/pview", "POST /v1/orders/1/grab", "DELETE /pview", "POST /nowhere", "GET /healthz",
		} {
			method, path, _ := strings.Cut(line, " ")
			for _, body := range []io.Reader{
				strings.NewReader(padded(size)),
				struct{ io.Reader }{strings.NewReader(padded(size))}, // goes out in chunks: its length is not known
			} {
				request, err := http.NewRequestWithContext(testenv.Context(t), method, s.URL+path, body)
				if err != nil {
					t.Fatal(err)
				}
				s.send(request).fails(t, http.StatusRequestEntityTooLarge, "longer than 4096 bytes")
			}
		}
	}
	if s.views.value != 7 {
		t.Errorf("a refused request wrote %d", s.views.value)
	}
}

func TestQueriesHaveABound(t *testing.T) {
	s := serve(t)
	const driver = "driver=12&x="
	s.ask(http.MethodPost, "/orders", "")
	for size, status := range map[int]int{1023: 200, 1024: 200, 1025: 400, 10_000: 400} {
		query := "?x=" + strings.Repeat("y", size-len("x="))
		if got := s.get("/v1/pview" + query); got.status != status {
			t.Errorf("%d bytes: %d %s", size, got.status, got.body)
		}
	}
	s.get("/v1/orders/1/grab?"+driver+strings.Repeat("y", 1025-len(driver))).fails(t, http.StatusBadRequest, "query is longer than 1024 bytes")
	if len(s.orders.attempts) != 0 || s.views.value != 2 {
		t.Errorf("%v, %d views", s.orders.attempts, s.views.value)
	}
	if got := s.get("/v1/orders/1/grab?" + driver + strings.Repeat("y", 1024-len(driver))); got.status != http.StatusOK {
		t.Errorf("1024 bytes: %d %s", got.status, got.body)
	}
}

// A body that a client declares and does not send must not keep a connection, nor delay the answer.
func TestBodiesThatDoNotArrive(t *testing.T) {
	for name, test := range map[string]struct {
		send   string
		status int
		says   string
	}{
		"nothing":            {"Content-Length: 10\r\n\r\n", 408, "within 5s"},
		"a part":             {"Content-Length: 10\r\n\r\n{", 408, "within 5s"},
		"no chunk":           {"Transfer-Encoding: chunked\r\n\r\n", 408, "within 5s"},
		"no end":             {"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 408, "within 5s"},
		"too much, no end":   {"Transfer-Encoding: chunked\r\n\r\n1001\r\n" + strings.Repeat("x", 4097), 413, "4096 bytes"},
		"too much, a part":   {"Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 4097), 413, "4096 bytes"},
		"not a chunk":        {"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "could not be read"},
		"too much, expected": {"Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n", 408, "within 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, s *instance, dial func() net.Conn) {
				client, began := dial(), time.Now()
				reader := bufio.NewReader(client)
				go fmt.Fprintf(client, "POST /v1/pview HTTP/1.1\r\nHost: lab\r\n%s", test.send)
				got := read(t, reader)
				got.fails(t, test.status, test.says)
				if _, err := reader.ReadByte(); err != io.EOF {
					t.Errorf("then the connection gave %v, want its end", err)
				}
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("it took %s", took)
				}
				if s.views.value != 0 {
					t.Error("it counted a view")
				}
			})
		})
	}
}

// A client that sends its headers one by one, without an end, must not keep a connection.
func TestHeadersThatDoNotEnd(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *instance, dial func() net.Conn) {
		client, began := dial(), time.Now()
		_, err := fmt.Fprint(client, "GET /pview HTTP/1.1\r\n")
		for range 60 {
			if err != nil {
				break
			}
			time.Sleep(time.Second) // fake: a header each second is the subject
			_, err = fmt.Fprint(client, "X: y\r\n")
		}
		if took := time.Since(began); err == nil || took > 11*time.Second {
			t.Errorf("after %s the connection gave %v, want its end after 10 s", took, err)
		}
	})
}

// Work may take longer than a body's arrival, and a connection serves many requests. Time itself is the subject, and it is fake: each
// sleep is longer than every bound of a connection, and passes immediately.
func TestTheBoundOfTheBodyIsNoneOfTheWork(t *testing.T) {
	inFakeTime(t, func(t *testing.T, s *instance, dial func() net.Conn) {
		s.views.inside = func(ctx context.Context) error {
			time.Sleep(time.Minute) // fake: it would end a read of the body
			return ctx.Err()
		}
		client := dial()
		reader := bufio.NewReader(client)
		for _, rest := range []string{"\r\n", "Content-Length: 2\r\n\r\n{}", "\r\n"} {
			go fmt.Fprint(client, "POST /v1/pview HTTP/1.1\r\nHost: lab\r\n"+rest)
			if got := read(t, reader); got.status != http.StatusOK {
				t.Fatalf("%q: %d %s", rest, got.status, got.body)
			}
			time.Sleep(time.Minute) // fake: the connection is idle
		}
	})
}

// An instance that stops cancels what still runs after 8 seconds, and waits for those answers. Whatever ignores that is cut off at 11.
func TestServeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, ended, never := stopping{make(pipes)}, make(chan error), make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			ended <- handlers.Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/ignores" {
					<-never
				}
				<-r.Context().Done()
				w.WriteHeader(http.StatusServiceUnavailable)
			}), slog.New(slog.DiscardHandler))
		}()
		var clients [2]net.Conn
		for i, path := range []string{"/waits", "/ignores"} {
			client, served := net.Pipe()
			listener.pipes <- served
			fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: lab\r\n\r\n", path)
			clients[i] = client
		}
		synctest.Wait()
		stop()
		began := time.Now()
		got, after := read(t, bufio.NewReader(clients[0])), time.Since(began)
		if got.status != http.StatusServiceUnavailable || after != 8*time.Second {
			t.Errorf("after %s: %d %s", after, got.status, got.body)
		}
		if n, err := clients[1].Read(make([]byte, 1)); n > 0 || err == nil || time.Since(began) != handlers.StopAtMost {
			t.Errorf("after %s: %d bytes, %v", time.Since(began), n, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(never)
	})
	gone := make(pipes)
	close(gone)
	if err := handlers.Serve(t.Context(), gone, nil, slog.New(slog.DiscardHandler)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that has ended: %v", err)
	}
}

// stopping is such a listener that a server can close.
type stopping struct{ pipes }

func (s stopping) Close() error { close(s.pipes); return nil }

// inFakeTime serves over connections in memory, where the seconds of a bound pass immediately.
func inFakeTime(t *testing.T, test func(t *testing.T, s *instance, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		s, cfg := parts(t)
		listener := make(pipes)
		ended := make(chan error)
		go func() {
			ended <- handlers.Serve(t.Context(), listener, handlers.New(cfg), slog.New(slog.DiscardHandler))
		}()
		var clients []net.Conn
		test(t, s, func() net.Conn {
			client, served := net.Pipe()
			clients = append(clients, client)
			listener <- served
			return client
		})
		for _, client := range clients {
			_ = client.Close()
		}
		close(listener)
		<-ended
	})
}

func read(t *testing.T, from *bufio.Reader) answer {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	for err == nil && response.StatusCode == http.StatusContinue {
		response, err = http.ReadResponse(from, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// pipes is a listener whose connections come from a channel.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	served, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return served, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
