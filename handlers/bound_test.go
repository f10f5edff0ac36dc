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
	"locklab/lab/testenv"
)

// paddedBody returns a body of n bytes that sets the counter to 1.
func paddedBody(n int) string {
	const set = `{"value":1}`
	return set + strings.Repeat(" ", n-len(set))
}

func TestMaxBodySize(t *testing.T) {
	s := serve(t)
	for _, size := range []int{11, 4096} {
		if got := s.do(http.MethodPut, "/pview", paddedBody(size)); got.status != http.StatusOK {
			t.Errorf("%d bytes: %d %s", size, got.status, got.body)
		}
	}
	s.views.value = 7
	for _, size := range []int{4097, 1 << 20} {
		for _, line := range []string{
			"PUT /pview", "GET /v1/pview", "POST /nowhere",
		} {
			method, path, _ := strings.Cut(line, " ")
			for _, body := range []io.Reader{
				strings.NewReader(paddedBody(size)),
				struct{ io.Reader }{strings.NewReader(paddedBody(size))}, // without a known length, so it is sent in chunks
			} {
				request, err := http.NewRequestWithContext(testenv.Context(t), method, s.URL+path, body)
				if err != nil {
					t.Fatal(err)
				}
				s.send(request).wantError(t, http.StatusRequestEntityTooLarge, "longer than 4096 bytes")
			}
		}
	}
	if s.views.value != 7 {
		t.Errorf("a rejected request wrote %d", s.views.value)
	}
}

func TestMaxQuerySize(t *testing.T) {
	s := serve(t)
	s.do(http.MethodPost, "/orders", "")
	for _, path := range []string{"/v1/pview?x=", "/v1/orders/1/grab?driver=12&x="} {
		_, query, _ := strings.Cut(path, "?")
		s.get(path+strings.Repeat("y", 1025-len(query))).wantError(t, http.StatusBadRequest, "query is longer than 1024 bytes")
		if len(s.orders.attempts) != 0 || s.views.value > 1 {
			t.Errorf("%v, %d views", s.orders.attempts, s.views.value)
		}
		if got := s.get(path + strings.Repeat("y", 1024-len(query))); got.status != http.StatusOK {
			t.Errorf("1024 bytes: %d %s", got.status, got.body)
		}
	}
}

// A client that announces a body and does not send all of it must not keep a connection or delay the response.
func TestIncompleteBody(t *testing.T) {
	for name, test := range map[string]struct {
		send   string
		status int
		want   string // in the error
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
				got := readResponse(t, reader)
				got.wantError(t, test.status, test.want)
				if _, err := reader.ReadByte(); err != io.EOF {
					t.Errorf("after the response the connection returned %v, want EOF", err)
				}
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("it took %s", took)
				}
				if s.views.value != 0 {
					t.Error("a view was counted")
				}
			})
		})
	}
}

// A client that keeps sending headers must not keep a connection.
func TestSlowHeaders(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *instance, dial func() net.Conn) {
		client, began := dial(), time.Now()
		_, err := fmt.Fprint(client, "GET /pview HTTP/1.1\r\n")
		for range 60 {
			if err != nil {
				break
			}
			time.Sleep(time.Second) // fake time
			_, err = fmt.Fprint(client, "X: y\r\n")
		}
		if took := time.Since(began); err == nil || took > 11*time.Second {
			t.Errorf("after %s the connection returned %v, want it closed after 10s", took, err)
		}
	})
}

func TestMaxHeaderSize(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *instance, dial func() net.Conn) {
		client := dial()
		go fmt.Fprintf(client, "GET /healthz HTTP/1.1\r\nHost: lab\r\nX: %s\r\n\r\n", strings.Repeat("y", 40<<10))
		if got := readResponse(t, bufio.NewReader(client)); got.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

// The work may take longer than the body may, and a connection serves many requests. Each sleep is longer than every timeout of a
// connection; time is fake.
func TestBodyTimeoutDoesNotLimitWork(t *testing.T) {
	inFakeTime(t, func(t *testing.T, s *instance, dial func() net.Conn) {
		s.views.inside = func(ctx context.Context) error {
			time.Sleep(time.Minute) // longer than the timeout of the body
			return ctx.Err()
		}
		client := dial()
		reader := bufio.NewReader(client)
		for _, rest := range []string{"\r\n", "Content-Length: 2\r\n\r\n{}", "\r\n"} {
			go fmt.Fprint(client, "POST /v1/pview HTTP/1.1\r\nHost: lab\r\n"+rest)
			if got := readResponse(t, reader); got.status != http.StatusOK {
				t.Fatalf("%q: %d %s", rest, got.status, got.body)
			}
			time.Sleep(time.Minute) // the connection is idle
		}
	})
}

// A shutdown cancels running requests after 8 seconds and waits for their responses. It closes connections after 11 seconds.
func TestServeShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, served, never := closingListener{make(pipeListener)}, make(chan error), make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			served <- handlers.Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/ignores" {
					<-never
				}
				<-r.Context().Done()
				w.WriteHeader(http.StatusServiceUnavailable)
			}), slog.New(slog.DiscardHandler))
		}()
		var clients [2]net.Conn
		for i, path := range []string{"/waits", "/ignores"} {
			client, server := net.Pipe()
			listener.pipeListener <- server
			fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: lab\r\n\r\n", path)
			clients[i] = client
		}
		synctest.Wait()
		stop()
		began := time.Now()
		got, after := readResponse(t, bufio.NewReader(clients[0])), time.Since(began)
		if got.status != http.StatusServiceUnavailable || after != 8*time.Second {
			t.Errorf("after %s: %d %s", after, got.status, got.body)
		}
		if n, err := clients[1].Read(make([]byte, 1)); n > 0 || err == nil || time.Since(began) != handlers.ShutdownTimeout {
			t.Errorf("after %s: %d bytes, %v", time.Since(began), n, err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		close(never)
	})
	closed := make(pipeListener)
	close(closed)
	if err := handlers.Serve(t.Context(), closed, nil, slog.New(slog.DiscardHandler)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}

// closingListener is a pipeListener whose Close ends Accept.
type closingListener struct{ pipeListener }

func (l closingListener) Close() error { close(l.pipeListener); return nil }

// inFakeTime runs a test in a synctest bubble, against an instance that serves over in-memory connections.
func inFakeTime(t *testing.T, test func(t *testing.T, s *instance, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		s, cfg := newConfig(t)
		listener := make(pipeListener)
		served := make(chan error)
		go func() {
			served <- handlers.Serve(t.Context(), listener, handlers.New(cfg), slog.New(slog.DiscardHandler))
		}()
		var clients []net.Conn
		test(t, s, func() net.Conn {
			client, server := net.Pipe()
			clients = append(clients, client)
			listener <- server
			return client
		})
		for _, client := range clients {
			_ = client.Close()
		}
		close(listener)
		<-served
	})
}

func readResponse(t *testing.T, reader *bufio.Reader) response {
	t.Helper()
	resp, err := http.ReadResponse(reader, nil)
	for err == nil && resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(reader, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

// pipeListener is a listener that accepts the connections sent to it.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
