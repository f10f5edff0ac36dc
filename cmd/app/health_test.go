package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
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

// A container whose servers are down is alive and not ready: otherwise docker compose up could not start these servers again.
func TestHealth(t *testing.T) {
	t.Setenv("LAB_LISTEN", newInstance(t, map[string]error{"redis": nil, "database": nil}))
	if got := app(t.Context(), "health"); got != (output{exitOK, "instance blue is ready\n", ""}) {
		t.Errorf("exit %d: %q, %q", got.code, got.out, got.err)
	}
	listen := newInstance(t, map[string]error{
		"redis": errors.New("dial tcp: refused"), "database": errors.New("too many\nconnections"), "redlock": nil,
	})
	wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUnavailable,
		"instance blue is not ready: database: too many; connections; redis: dial tcp: refused\n")
	if got := app(t.Context(), "health", "--alive", "--listen", listen); got != (output{exitOK, "instance blue is alive\n", ""}) {
		t.Errorf("exit %d: %q, %q", got.code, got.out, got.err)
	}
	for _, alive := range []string{"--alive", "--alive=false"} {
		wantSentence(t, app(t.Context(), "health", alive, "--listen=127.0.0.1:1"), exitUnavailable, "no instance answers", "http://127.0.0.1:1/")
	}
}

func TestHealthOfOtherServers(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		text   string
	}{
		"a page":                  {http.StatusOK, "<html>Welcome to nginx!</html>"},
		"another program's JSON":  {http.StatusOK, `{"status": "UP"}`},
		"a balancer without ours": {http.StatusBadGateway, `{"error": "the balancer got no answer"}`},
	} {
		t.Run(name, func(t *testing.T) {
			listen := serveLocal(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(answer.status)
				io.WriteString(w, answer.text)
			}))
			wantSentence(t, app(t.Context(), "health", "--listen", listen), exitUnavailable, "http://"+listen, "is no instance of ours")
		})
	}
}
