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

// All blocks are replaced or none, and Stale names those that differ.
func TestUpdateAll(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const text = "a\n<!-- x: by a command -->\nold\n<!-- /x -->\n<!-- y: by a command -->\nsame\n<!-- /y -->\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{"x": "new\n", "y": "same\n"}
	if stale, err := Stale(page, blocks); err != nil || len(stale) != 1 || stale[0] != "x" {
		t.Errorf("before: %v, %v", stale, err)
	}
	if err := UpdateAll(page, map[string]string{"x": "new\n", "none": ""}); err == nil {
		t.Error("a missing block is no error")
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != text {
		t.Errorf("the page has changed: %v, %q", err, got)
	}
	if err := UpdateAll(page, blocks); err != nil {
		t.Fatal(err)
	}
	if stale, err := Stale(page, blocks); err != nil || len(stale) > 0 {
		t.Errorf("after: %v, %v", stale, err)
	}
}
