package order_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/order"
)

func TestValidate(t *testing.T) {
	t.Chdir(t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, database string
		want           string // in the error; empty: none
	}{
		{"a file here", "sqlite:orders.db", ""},
		{"a file elsewhere", "sqlite:" + filepath.Join(t.TempDir(), "orders.db"), ""},
		{"MySQL", "mysql:lab:" + password + "@tcp(db:3306)/locklab", ""},
		{"MySQL without a user", "mysql:tcp(127.0.0.1:3306)/locklab", ""},
		{"MySQL with parameters", "mysql:lab:" + password + "@tcp(db:3306)/locklab?timeout=1s&charset=utf8mb4", ""},

		{"nothing", "", "allowed are"},
		{"a kind alone", "sqlite", "allowed are"},
		{"SQLite without a path", "sqlite:", "allowed are"},
		{"MySQL without a DSN", "mysql:", "allowed are"},
		{"MySQL with a password alone", "mysql:" + password, "user:password@tcp(host:port)/name"},
		{"another kind without a password", "postgres:locklab", `"postgres:locklab"`},
		{"another kind", "postgres://lab:" + password + "@db/locklab", "allowed are"},
		{"another kind with a DSN", "postgres:lab:" + password + "@tcp(db:5432)/locklab", "allowed are"},
		{"a name with a %", "mysql:lab:" + password + "@tcp(db:3306)/lock%zz", "begins no escape"},
		{"a name that begins with a %", "mysql:lab:" + password + "@tcp(db:3306)/%zz", "begins no escape"},
		{"a time without a unit", "mysql:lab:" + password + "@tcp(db:3306)/locklab?timeout=5", "timeout does not fit; a time has a unit"},
		{"a number for true", "mysql:lab:" + password + "@tcp(db:3306)/locklab?parseTime=2", "parseTime does not fit; it is true or false"},
		{"a number that is none", "mysql:lab:" + password + "@tcp(db:3306)/locklab?maxAllowedPacket=x", "maxAllowedPacket does not fit"},
		{"a directory that does not exist", "sqlite:" + filepath.Join(file+"s", "orders.db"), "no directory " + file + "s "},
		{"a directory that is a file", "sqlite:" + filepath.Join(file, "orders.db"), "no directory " + file + " "},
		// Each connection of the pool would have its own.
		{"SQLite in memory", "sqlite::memory:", "keep it in a file"},
		{"a URL", "mysql://lab:" + password + "@db:3306/locklab", "user:password@tcp(host:port)/name"},
		{"no name of a database", "mysql:lab:" + password + "@tcp(db:3306)", "user:password@tcp(host:port)/name"},
		// The driver takes what is before the slash for a network, and names it.
		{"no host", "mysql:lab:" + password + "/locklab", "user:password@tcp(host:port)/name"},
		{"a bad parameter", "mysql:lab:" + password + "@tcp(db:3306)/locklab?parseTime=" + password, "name?parameter=value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := order.Config{Database: c.database}.Validate()
			secret(t, err)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			// There is nothing to wait for, so it must not wait until a context's end.
			if _, opened := order.OpenStore(t.Context(), order.Config{Database: c.database}); opened == nil || opened.Error() != err.Error() {
				t.Errorf("OpenStore: got %v, want %v", opened, err)
			}
		})
	}
}
