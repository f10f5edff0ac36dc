package main

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// ownRedis starts a server with TLS and a private CA. It has a user lab with the rights of docs/cli.md, and poor, who may do nothing.
func ownRedis(t *testing.T) (node *servers.Node, tlsPort string) {
	t.Helper()
	cert, key := testenv.Certificate(t)
	_, tlsPort, _ = strings.Cut(testenv.FreeAddr(t), ":")
	node, err := testenv.Stack(t).Redis(testenv.Context(t), "redis", true, "--user", "poor", "on", ">hush", "--tls-port", tlsPort,
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	if err != nil {
		t.Fatal(err)
	}
	setUser := regexp.MustCompile(`(?m)^ACL SETUSER lab .*$`).FindString(page(t, "docs/cli.md"))
	err = node.WithClient(func(c *redis.Client) error {
		return c.Do(t.Context(), anys(strings.Fields(strings.Replace(setUser, "PASSWORD", "hush/hush", 1)))...).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return node, tlsPort
}

// An instance works over a Redis of one's own. Nothing that it prints or answers has the password. One that is wrong is a sentence, as is a
// right that is missing.
func TestOwnRedis(t *testing.T) {
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	node, port := ownRedis(t)
	url := "rediss://lab:hush%2Fhush@localhost:" + port
	instance := startInstance(t, &servers.Node{Restartable: servers.Restartable{Addr: url}})
	var views sync.WaitGroup
	for range 30 { // most of them wait for a message
		views.Go(func() {
			if status, _, body, err := send(testenv.Context(t), http.MethodPost, instance.URL+"/v3/pview"); status != http.StatusOK {
				t.Error(status, body, err)
			}
		})
	}
	views.Wait()
	for path, want := range map[string]string{
		"/pview": `"value":30`, "/c1/items/1": "", "/readyz": `"ready":true`, "/healthz": "ok", "/": "v3", "/metrics": "v3",
	} {
		status, _, body := ask(t, http.MethodGet, instance.URL+path)
		refused := status >= http.StatusInternalServerError || strings.Contains(body, "NOPERM")
		if refused || !strings.Contains(body, want) || strings.Contains(body, "hush") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if log := instance.Log(); strings.Contains(log, "hush") || !strings.Contains(log, "single localhost:"+port) {
		t.Error(log)
	}
	const noPing = "the user lacks a permission: NOPERM this user has no permissions to run the 'ping' command"
	for flags, says := range map[string]string{
		"--redis=redis://lab:hush@" + node.Addr:                                "the password is wrong or missing: WRONGPASS",
		"--redis=redis://poor:hush@" + node.Addr:                               noPing,
		"--redis-user=poor --redis-password=hush --redis=redis://" + node.Addr: noPing,
	} {
		args := []string{"serve", "--listen=127.0.0.1:0", "--database=" + testenv.Stack(t).SQLite()}
		got := app(testenv.Context(t), append(args, strings.Fields(flags)...)...)
		wantSentence(t, got, exitUnavailable, "--redis", "single "+node.Addr, says)
		if strings.Contains(got.err, "hush") {
			t.Errorf("the error has a password: %s", got.err)
		}
	}
}
