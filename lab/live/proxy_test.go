package live

import (
	"net/http"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// behindNginx starts nginx with nothing but proxy_pass and these settings, and returns its URL.
func behindNginx(t *testing.T, base string, settings ...string) string {
	t.Helper()
	testenv.Slow(t)
	testenv.Needs(t, testenv.Nginx)
	n, err := testenv.Stack(t).Nginx(testenv.Context(t), []*servers.Instance{{URL: base}}, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return n.URL
}

// A page behind somebody's own proxy takes its own forms and no other site's, names the address that its users know, and gets its events
// through, whatever the proxy makes of the Host. An older browser, and any at a plain HTTP address, says no more of a form than its Origin.
func TestThePageBehindAProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, host string }{
		{"http://lab.example:8070", "UPSTREAM"}, // nginx's default: where it passes the request on
		{"http://lab.example:8070", "$host"},    // without the port
		{"http://lab.example:8070", "$http_host"},
		{"https://lab.example", "UPSTREAM"},
		{"https://lab.example", "$host:443"},
	} {
		t.Run(c.address+" as "+c.host, func(t *testing.T) {
			t.Parallel()
			cfg := config(t.TempDir())
			cfg.Class, cfg.Address = &Class{Token: token}, c.address
			_, base := serve(t, cfg)
			host := strings.ReplaceAll(c.host, "UPSTREAM", strings.TrimPrefix(base, "http://"))
			proxy := behindNginx(t, base, "proxy_set_header Host "+host)
			for origin, want := range map[string]int{
				c.address: http.StatusOK, "http://evil.example": http.StatusForbidden, c.address + "1": http.StatusForbidden,
			} {
				status, body := do(t, http.MethodPost, proxy+"/ui/quiz/scene-2/again", nil, http.Header{
					"Host": {hostOf(c.address)}, "Origin": {origin}, "Accept": {"*/*"}, "Authorization": {"Bearer " + token},
				})
				says := map[int]string{http.StatusOK: "The page " + c.address + "/ui/story/2 shows", http.StatusForbidden: "--address"}[want]
				if status != want || !strings.Contains(body, says) {
					t.Errorf("a form from %s: %d %s", origin, status, body)
				}
			}
			looksAs(t, browser(t), proxy, "scene-3").until("scene-3")
		})
	}
}
