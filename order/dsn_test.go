package order

import (
	"net/url"
	"strings"
	"testing"
)

// A server that accepts and says nothing must not stop an instance for ever, also where a query has no context. A DSN may say otherwise.
func TestTheDSNBoundsEachAnswer(t *testing.T) {
	for parameters, want := range map[string]string{
		"":                             "5s 5s",
		"?timeout=1s&readTimeout=2s":   "1s 2s",
		"?timeout=1s":                  "1s 5s",
		"?readTimeout=2s&charset=utf8": "5s 2s",
		"?rejectReadOnly=true":         "5s 5s",
	} {
		from, err := Config{Database: "mysql:lab@tcp(db:3306)/locklab" + parameters}.source()
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(from.dsn, "?")
		query, err := url.ParseQuery(text)
		if got := query.Get("timeout") + " " + query.Get("readTimeout"); err != nil || got != want {
			t.Errorf("%q: the bounds are %s, want %s (%v)", parameters, got, want, err)
		}
		// A row that matches counts, the time of an order is read as one, and what a read-only server says is not hidden.
		if query.Has("rejectReadOnly") || query.Get("clientFoundRows") != "true" ||
			query.Get("parseTime") != "true" || query.Get("interpolateParams") != "true" {
			t.Errorf("%q: the parameters are %s", parameters, text)
		}
	}
}
