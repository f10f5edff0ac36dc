package database

import (
	"net/url"
	"strings"
	"testing"
)

// A server that accepts a connection and sends nothing must not block an instance for ever, even in a query without a context. The DSN can
// change the timeouts.
func TestDSNParameters(t *testing.T) {
	for parameters, want := range map[string]string{
		"":                             "5s 5s",
		"?timeout=1s&readTimeout=2s":   "1s 2s",
		"?timeout=1s":                  "1s 5s",
		"?readTimeout=2s&charset=utf8": "5s 2s",
		"?timeout=1s&loc=No%2FSuch&readTimeout=2s&rejectReadOnly=true": "1s 2s",
	} {
		src, err := newSource("mysql:lab@tcp(db:3306)/locklab" + parameters)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(src.dsn, "?")
		query, err := url.ParseQuery(text)
		if got := query.Get("timeout") + " " + query.Get("readTimeout"); err != nil || got != want {
			t.Errorf("%q: the timeouts are %s, want %s (%v)", parameters, got, want, err)
		}
		// The other parameters are not the DSN's to choose.
		if query.Get("clientFoundRows") != "true" ||
			query.Get("parseTime") != "true" || query.Get("interpolateParams") != "true" || query.Has("loc") || query.Has("rejectReadOnly") {
			t.Errorf("%q: the parameters are %s", parameters, text)
		}
	}
}
