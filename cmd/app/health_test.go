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

// newInstance starts an instance named blue in this process. checks has the result of pinging each of its servers.
func newInstance(t *testing.T, checks map[string]error) (listen string) {
	t.Helper()
	cfg := handlers.Config{Instance: "blue", Topology: "single", Metrics: handlers.NewMetrics(), Log: slog.New(slog.DiscardHandler)}
	var servers []handlers.HealthCheck
	for name, err := range checks {
		servers = append(servers, handlers.HealthCheck{Name: name, Ping: func(context.Context) error { return err }})
	}
	cfg.Outages = handlers.NewOutages(cfg.Log, servers...)
	t.Cleanup(func() { _ = cfg.Outages.Close() })
	return serveLocal(t, handlers.New(cfg))
}

// serveLocal starts an HTTP server and returns its host:port.
func serveLocal(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestHealthOfAReadyInstance(t *testing.T) {
	got := app(t.Context(), "health", "--listen", newInstance(t, map[string]error{"redis": nil, "database": nil}))
	if got.code != exitOK || got.out != "instance blue is ready\n" || got.err != "" {
		t.Errorf("exit %d: %q, %q", got.code, got.out, got.err)
	}
}

func TestHealthNamesUnreachableServers(t *testing.T) {
	listen := newInstance(t, map[string]error{
		"redis": errors.New("dial tcp: refused"), "database": errors.New("too many\nconnections"),
		"redlock": nil,
	})
	got := app(t.Context(), "health", "--listen", listen)
	wantSentence(t, got, exitUnavailable, "instance blue is not ready: database: too many; connections; redis: dial tcp: refused")
	if strings.Contains(got.err, "redlock") {
		t.Errorf("the error names a server that answers: %s", got.err)
	}
}

// An instance stays alive while a server is down: otherwise docker compose up could not start that server again.
func TestAliveWithoutItsServers(t *testing.T) {
	listen := newInstance(t, map[string]error{"redis": errors.New("dial tcp: refused")})
	got := app(t.Context(), "health", "--alive", "--listen", listen)
	if got.code != exitOK || got.out != "instance blue is alive\n" {
		t.Errorf("exit %d: %q, %q", got.code, got.out, got.err)
	}
	wantSentence(t, app(t.Context(), "health", "--alive", "--listen", "127.0.0.1:1"), exitUnavailable, "no instance answers")
}

func TestHealthOfOtherServers(t *testing.T) {
	respond := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		})
	}
	for name, handler := range map[string]http.Handler{
		"a page":                  respond(http.StatusOK, "<html>Welcome to nginx!</html>"),
		"a page that is missing":  respond(http.StatusNotFound, "404 page not found"),
		"another program's JSON":  respond(http.StatusOK, `{"status": "UP"}`),
		"JSON that is no object":  respond(http.StatusOK, `[1]`),
		"nothing":                 respond(http.StatusOK, ""),
		"a balancer without ours": respond(http.StatusBadGateway, `{"error": "the balancer got no answer"}`),
	} {
		t.Run(name, func(t *testing.T) {
			listen := serveLocal(t, handler)
			wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUnavailable, "http://"+listen, "is no instance of ours")
		})
	}
}

func TestHealthWithoutAnInstance(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:1", "[::1]:1"} {
		wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUnavailable, "no instance answers", "http://"+listen+"/")
	}
}

// An unspecified address, such as 0.0.0.0, is replaced: not every system can send a request to it.
func TestHealthOfAnUnspecifiedAddress(t *testing.T) {
	asked := make(chan string, 1)
	port := serveLocal(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

func TestHealthReadsLABLISTEN(t *testing.T) {
	t.Setenv("LAB_LISTEN", newInstance(t, nil))
	if got := app(t.Context(), "health"); got.code != exitOK {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

func TestHealthMisuse(t *testing.T) {
	for _, listen := range []string{"8080", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:http", "http://127.0.0.1:8080"} {
		wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUsage, "--listen", `"`+listen+`"`, "host:port")
	}
}
