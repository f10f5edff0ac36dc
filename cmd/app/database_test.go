//go:build unix

package main

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"locklab/lab/testenv"
)

// The database of v5 hangs or is unreachable while the instance runs. Each response comes in time and names the server. v5 recovers with
// the database, and creates tables that are lost before it is ready.
func TestTheDatabaseOfTheLocksGoesAway(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	s := testenv.Stack(t)
	server, err := s.MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := s.Proxy("database", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := mysql.ParseDSN(server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	dsn.Addr = proxy.Addr
	instance := startInstance(t, testenv.Redis(t, false), "--lease=3s", "--database=mysql:"+dsn.FormatDSN())
	waitUntilWorking(t, instance, "v5")
	for _, fault := range []struct {
		name   string
		do     func()
		remove func()
	}{
		{"hangs", func() { testenv.Pause(t, server) }, server.Resume},
		{"out of reach", proxy.Cut, proxy.Mend},
	} {
		fault.do()
		for _, request := range []string{"POST /v5/pview", "GET /readyz", "POST /v5/pview"} {
			method, path, _ := strings.Cut(request, " ")
			began := time.Now()
			status, _, body := ask(t, method, instance.URL+path)
			if status != http.StatusServiceUnavailable || !strings.Contains(body, proxy.Addr) {
				t.Errorf("%s, %s: %d %s; want 503 naming %s", fault.name, request, status, body, proxy.Addr)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s, %s: took %s", fault.name, request, took)
			}
		}
		if status, _, body := ask(t, http.MethodPost, instance.URL+"/v3/pview"); status != http.StatusOK {
			t.Errorf("%s: v3 must not need the database: %d %s", fault.name, status, body)
		}
		fault.remove()
		waitUntilWorking(t, instance, "v5")
	}
	db, err := sql.Open("mysql", server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DROP TABLE wins, orders"); err != nil {
		t.Fatal(err)
	}
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/readyz"); status != http.StatusOK {
		t.Errorf("without tables: %d %s", status, body)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT 1 FROM orders, wins"); err != nil {
		t.Errorf("an instance that is ready has no tables: %v", err)
	}
}
