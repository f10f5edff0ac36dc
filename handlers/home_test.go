package handlers_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"locklab/handlers"
	"locklab/systems/cache"
)

var (
	commands = regexp.MustCompile(`<code>(curl [^<]*)</code>`)
	quoted   = regexp.MustCompile(`'[^']*'`)
	words    = regexp.MustCompile(`'[^']*'|[^ ]+`)
)

// curlCommands returns the curl commands of a page, as a reader copies them.
func curlCommands(page string) (lines []string) {
	for _, found := range commands.FindAllStringSubmatch(page, -1) {
		lines = append(lines, html.UnescapeString(found[1]))
	}
	return lines
}

// runCurl sends the request of a curl command.
func (s *instance) runCurl(line string) (method, path string, got response) {
	s.t.Helper()
	if strings.ContainsAny(quoted.ReplaceAllString(line, ""), "`$\\;|<>#\"'&?*[]{}()~!") {
		s.t.Errorf("a shell would not pass this on unchanged: %s", line)
	}
	var body string
	var headers []string
	arguments := words.FindAllString(line, -1)[1:]
	for i := 0; i < len(arguments); i++ {
		word := func(n int) string { return strings.Trim(arguments[n], "'") }
		switch word(i) {
		case "-i":
		case "-X":
			i++
			method = word(i)
		case "-H":
			i++
			headers = append(headers, strings.Replace(word(i), "TOKEN", token, 1))
		case "-d":
			i++
			body = word(i)
			headers = append(headers, "Content-Type: application/x-www-form-urlencoded") // as curl does
		default:
			rest, found := strings.CutPrefix(word(i), s.URL)
			if !found || path != "" {
				s.t.Errorf("%q is not a URL of this instance: %s", word(i), line)
			}
			path = rest
		}
	}
	if method == "" {
		method = http.MethodGet
	}
	return method, path, s.do(method, path, body, headers...)
}

const token = "secret-token"

// Every command of the page works as it stands there, whatever the instance serves.
func TestHomePageCommands(t *testing.T) {
	withToken := func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token }
	without := func(first int) func(*instance, *handlers.Config) {
		return func(_ *instance, cfg *handlers.Config) { cfg.Versions = cfg.Versions[first:] }
	}
	items := func(_ *instance, cfg *handlers.Config) { cfg.Caches = &fakeCaches{items: make(map[uint64]cache.Item)} }
	for name, c := range map[string]struct {
		changes []func(*instance, *handlers.Config)
		want    int // commands, at least
	}{
		"all":   {[]func(*instance, *handlers.Config){withShop, withRateLimits(&fakeSupplier{}), items}, 50},
		"token": {[]func(*instance, *handlers.Config){withToken}, 19},
		"one":   {[]func(*instance, *handlers.Config){without(4)}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.changes...)
			page := s.get("/")
			if strings.Contains(page.body, token) || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("the page contains the admin token, or is no page: %v", page.header)
			}
			lines := curlCommands(page.body)
			for _, line := range lines {
				_, path, got := s.runCurl(line)
				isRefused := got.status == http.StatusConflict && strings.Contains(path, "/grab") || strings.HasPrefix(path, "/r5/")
				if got.status >= 400 && !isRefused {
					t.Errorf("%s: %d %s", line, got.status, got.body)
				}
				if strings.Contains(line, "text/plain") && got.body != "8080 increase pview end!" {
					t.Errorf("%s: %s", line, got.body)
				}
			}
			if len(lines) < c.want {
				t.Errorf("the page has only %d commands, want %d", len(lines), c.want)
			}
		})
	}
}

func TestHomePageEscaping(t *testing.T) {
	const evil = `<script>alert("1")</script>`
	s := serve(t, func(_ *instance, cfg *handlers.Config) {
		cfg.Instance, cfg.Topology, cfg.Versions[0].Summary = evil, evil, evil
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "lab'()&amp;x"
	page := s.send(request).body
	if strings.Contains(page, "<script") || strings.Contains(page, "lab'()&amp;x") {
		t.Errorf("the page is not escaped: %s", page)
	}
	if n := strings.Count(page, html.EscapeString("<script>")); n != 4 { // title, heading, topology, version
		t.Errorf("%d escaped texts, want 4", n)
	}
}
