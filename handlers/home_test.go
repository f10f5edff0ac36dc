package handlers_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"locklab/handlers"
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

func TestHomePageCommands(t *testing.T) {
	for name, change := range map[string]func(*instance, *handlers.Config){
		"all":       func(*instance, *handlers.Config) {},
		"token":     func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token },
		"no v0, v1": func(_ *instance, cfg *handlers.Config) { cfg.Versions = cfg.Versions[2:] },
		"one":       func(_ *instance, cfg *handlers.Config) { cfg.Versions = cfg.Versions[4:] },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, change)
			seen := map[string]bool{}
			for _, line := range curlCommands(s.get("/").body) {
				method, path, got := s.runCurl(line)
				seen[method+" "+path] = true
				if grabbed := got.status == http.StatusConflict && strings.Contains(path, "/grab"); got.status >= 400 && !grabbed {
					t.Errorf("%s: %d %s", line, got.status, got.body)
				}
				if strings.Contains(line, "text/plain") && got.body != "8080 increase pview end!" {
					t.Errorf("%s: %s", line, got.body)
				}
			}
			want := []string{
				"GET /pview", "GET /pview?from=replica", "PUT /pview", "POST /orders", "GET /orders/1", "GET /healthz", "GET /readyz",
				"GET /metrics",
			}
			for _, v := range s.versions {
				want = append(want, "POST /"+v.Name+"/pview", "POST /"+v.Name+"/orders/1/grab?driver=12")
			}
			for _, line := range want {
				if !seen[line] {
					t.Errorf("the page does not show %s", line)
				}
			}
			if len(seen) != len(want) {
				t.Errorf("home.html shows %d requests, but want in this test has %d: %v", len(seen), len(want), seen)
			}
		})
	}
}

func TestHomePageHidesTheAdminToken(t *testing.T) {
	s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token })
	got := s.get("/")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if strings.Contains(got.body, token) {
		t.Error("the page contains the admin token")
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
	s.get("/healthz").wantJSON(t, http.StatusOK, map[string]any{
		"instance": evil, "status": "ok", "topology": evil, "build": "", "versions": versionNames, "owners": map[string]any{},
	})
}
