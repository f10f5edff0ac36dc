package database_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/database"
)

func TestValidate(t *testing.T) {
	t.Chdir(t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url string
		want      string // in the error; empty: none
	}{
		{"a file here", "sqlite:orders.db", ""},
		{"MySQL", "mysql:lab:" + password + "@tcp(db:3306)/locklab", ""},
		{"MySQL with parameters", "mysql:lab:" + password + "@tcp(db:3306)/locklab?timeout=1s&charset=utf8mb4", ""},

		{"MySQL in a time zone that this machine does not know", "mysql:lab:" + password + "@tcp(db:3306)/locklab?loc=No%2FSuch&timeout=1s", ""},

		{"nothing", "", "use sqlite:PATH or mysql:"},
		{"a kind alone", "sqlite", "use sqlite:PATH or mysql:"},
		{"MySQL with a password alone", "mysql:" + password, "user:password@tcp(host:port)/name"},
		{"another kind", "postgres://lab:" + password + "@db/locklab", "use sqlite:PATH or mysql:"},
		{"a name with a %", "mysql:lab:" + password + "@tcp(db:3306)/lock%zz", "refuses a parameter"},
		{"a time without a unit", "mysql:lab:" + password + "@tcp(db:3306)/locklab?timeout=5", "refuses a parameter"},
		{"a directory that does not exist", "sqlite:" + filepath.Join(file+"s", "orders.db"), "directory " + file + "s of"},
		{"a directory that is a file", "sqlite:" + filepath.Join(file, "orders.db"), "directory " + file + " of"},
		{"SQLite in memory", "sqlite::memory:", "name a file"},
		{"a URL", "mysql://lab:" + password + "@db:3306/locklab", "user:password@tcp(host:port)/name"},
		{"no database name", "mysql:lab:" + password + "@tcp(db:3306)", "user:password@tcp(host:port)/name"},
		// The driver takes the part before the slash for a network, and quotes it in its error.
		{"no host", "mysql:lab:" + password + "/locklab", "user:password@tcp(host:port)/name"},
		{"a bad parameter", "mysql:lab:" + password + "@tcp(db:3306)/locklab?parseTime=" + password, "name?parameter=value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := database.Validate(c.url)
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the error contains the password: %v", err)
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			// Open must not retry until the context ends.
			if _, openErr := database.Open(t.Context(), c.url); openErr == nil || openErr.Error() != err.Error() {
				t.Errorf("Open: got %v, want %v", openErr, err)
			}
		})
	}
}
