package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is missing, or too old, is named with the way to get it.
func TestANeedThatIsNotMet(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	v, o := Variant{Needs: []Need{RedisServer}}, Options{Real: true}
	if why := o.LeavesOut(v); !strings.HasPrefix(why, "needs redis-server, which is not on the PATH: ") || !strings.Contains(why, "apt") {
		t.Errorf("missing: %q", why)
	}
	articles := Variant{Needs: []Need{ArticlesJava}}
	if why := o.LeavesOut(articles); why !=
		"needs examples/articles: no java is on the PATH: install Java 17 and Maven, then run make articles" {
		t.Errorf("without Java: %q", why)
	}
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("#!/bin/sh\necho Redis server v=5.0.1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if why := o.LeavesOut(v); !strings.Contains(why, "needs redis-server: ") || !strings.Contains(why, "is 5.0.1") ||
		!strings.Contains(why, "install its own package, or that of a newer system") {
		t.Errorf("too old: %q", why)
	}
	if why := o.LeavesOut(Variant{}); why != "" {
		t.Errorf("a variant without needs: %q", why)
	}
	t.Chdir(dir)
	if why := o.LeavesOut(articles); !strings.HasSuffix(why, "not in a checkout of Locklab (git clone), in which make articles builds it") {
		t.Errorf("outside of a checkout: %q", why)
	}
}
