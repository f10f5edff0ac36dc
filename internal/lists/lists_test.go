package lists_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"locklab/internal/lists"
)

// Spaces around an item are dropped. An empty item is an error, wherever it is, because it may stand for a server that somebody forgot.
func TestTrimmed(t *testing.T) {
	for text, want := range map[string][]string{
		" a , b,c ": {"a", "b", "c"}, "a": {"a"},
		"a,,c": nil, ",a": nil, "a,b,": nil, "a, ": nil, "a, ,c": nil,
	} {
		var flags struct{ Servers []string }
		parser, err := kong.New(&flags, lists.Trimmed())
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse([]string{"--servers=" + text})
		if want == nil && (err == nil || !strings.Contains(err.Error(), "of the list is empty")) {
			t.Errorf("%q: %v, %q", text, err, flags.Servers)
		} else if want != nil && (err != nil || !slices.Equal(flags.Servers, want)) {
			t.Errorf("%q: %v, %q", text, err, flags.Servers)
		}
	}
}
