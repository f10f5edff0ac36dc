package marked

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUpdate(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"replaced", "a\n<!-- x: by a command -->\nold\nold\n<!-- /x -->\nb\n", "a\n<!-- x: by a command -->\nnew\n<!-- /x -->\nb\n"},
		{
			"other markers stay", "<!-- y: -->\n<!-- /y -->\n<!-- x: -->\n<!-- /x -->\n",
			"<!-- y: -->\n<!-- /y -->\n<!-- x: -->\nnew\n<!-- /x -->\n",
		},
		{"no markers", "a\n", ""},
		{"not closed", "<!-- x: by a command -->\nold\n", ""},
		{"closed before it begins", "<!-- /x -->\n<!-- x: by a command -->\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "page.md")
			if err := os.WriteFile(page, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Update(page, "x", "new\n")
			got, unread := os.ReadFile(page)
			if unread != nil {
				t.Fatal(unread)
			}
			if want := c.want; want == "" {
				if err == nil || string(got) != c.text {
					t.Errorf("no error, or the page has changed: %v, %q", err, got)
				}
			} else if err != nil || string(got) != want {
				t.Errorf("%v, %q", err, got)
			}
		})
	}
	if Update(filepath.Join(t.TempDir(), "none.md"), "x", "") == nil {
		t.Error("a missing page was updated")
	}
}
