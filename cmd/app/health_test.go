package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"locklab/handlers"
)

// blue is an instance of that name, with servers that answer what checks say.
func blue(t *testing.T, checks map[string]error) (listen string) {
	t.Helper()
	cfg := handlers.Config{Instance: "blue", Topology: "single", Metrics: handlers.NewMetrics(), Log: slog.New(slog.DiscardHandler)}
	var servers []handlers.Check
	for name, err := range checks {
		servers = append(servers, handlers.Check{Name: name, Ping: func(context.Context) error { return err }})
	}
	cfg.Outages = handlers.NewOutages(cfg.Log, servers...)
	t.Cleanup(func() { _ = cfg.Outages.Close() })
	return listening(t, handlers.New(cfg))
}

// listening is a server's host:port.
func listening(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestHealthIsThatOfAnInstanceThatIsReady(t *testing.T) {
	got := app(t.Context(), "health", "--listen", blue(t, map[string]error{"redis": nil, "database": nil}))
	if got.code != exitOK || got.out != "instance blue is ready\n" || got.err != "" {
		t.Errorf("exit %d: %q, %q", got.code, got.out, got.err)
	}
}

func TestHealthNamesEachServerThatIsAwayAndWhy(t *testing.T) {
	listen := blue(t, map[string]error{
		"redis": errors.New("dial tcp: refused"), "database": errors.New("too many\nconnections"),
		"redlock": nil,
	})
	got := app(t.Context(), "health", "--listen", listen)
	wantSentence(t, got, exitUnavailable, "instance blue is not ready: database: too many; connections; redis: dial tcp: refused")
	if strings.Contains(got.err, "redlock") {
		t.Errorf("it names a server that answers: %s", got.err)
	}
}

func TestHealthOfWhatIsNoInstance(t *testing.T) {
	answering := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		})
	}
	for name, handler := range map[string]http.Handler{
		"a page":                  answering(http.StatusOK, "<html>Welcome to nginx!</html>"),
		"a page that is missing":  answering(http.StatusNotFound, "404 page not found"),
		"another program's JSON":  answering(http.StatusOK, `{"status": "UP"}`),
		"JSON that is no object":  answering(http.StatusOK, `[1]`),
		"nothing":                 answering(http.StatusOK, ""),
		"a balancer without ours": answering(http.StatusBadGateway, `{"error": "the balancer got no answer"}`),
	} {
		t.Run(name, func(t *testing.T) {
			listen := listening(t, handler)
			wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUnavailable, "http://"+listen, "is no instance of ours")
		})
	}
}

func TestHealthWhereNobodyListens(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:1", "[::1]:1"} {
		wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUnavailable, "no instance answers", "http://"+listen+"/")
	}
}

// An instance that listens on all addresses is asked on one: a name is no address of a request on every system.
func TestHealthAsksThisMachineWhereAnInstanceListensOnAllAddresses(t *testing.T) {
	asked := make(chan string, 1)
	port := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host
		io.WriteString(w, `{"instance": "blue", "ready": true}`)
	}))
	_, port, _ = net.SplitHostPort(port)
	for listen, host := range map[string]string{
		"0.0.0.0:": "127.0.0.1:", ":": "127.0.0.1:", "[::]:": "127.0.0.1:", "127.0.0.1:": "127.0.0.1:", "localhost:": "localhost:",
	} {
		got := app(t.Context(), "health", "--listen", listen+port)
		if got.code != exitOK {
			t.Fatalf("%s: exit %d: %s", listen, got.code, got.err)
		}
		if to := <-asked; to != host+port {
			t.Errorf("--listen %s%s asks %s, want %s", listen, port, to, host+port)
		}
	}
}

func TestHealthTakesItsAddressFromTheVariableOfServe(t *testing.T) {
	t.Setenv("LAB_LISTEN", blue(t, nil))
	if got := app(t.Context(), "health"); got.code != exitOK {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

func TestHealthRefusesWhatIsNoAddress(t *testing.T) {
	for _, listen := range []string{"8080", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:http", "http://127.0.0.1:8080"} {
		wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUsage, "--listen", `"`+listen+`"`, "host:port")
	}
}
