//go:build unix

package deploy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"locklab/lab/burst"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// A burst proves something about two instances only when each gets exactly half of it.
func TestABurstIsHalved(t *testing.T) {
	one, two := instances(t)
	n := start(t, address(one), address(two))
	const users = 2000 // more than an instance has connections
	record, err := burst.RunViews(t.Context(), burst.Target{URL: n.url}, "v0", users, burst.Simultaneous)
	if err != nil {
		t.Fatal(err)
	}
	if got := record.PerInstance(); got["8080"] != users/2 || got["8090"] != users/2 || record.Final != users {
		t.Errorf("%d requests: %v, final %d, %d failed: %.200v", users, got, record.Final, len(record.Failed), record.Failed)
	}
	// nginx writes a line after it has sent the answer.
	testenv.Eventually(t, "the access log has every request", func() bool {
		upstreams := map[string]int{}
		for _, line := range n.lines(t) {
			if line.Request == "POST /v0/pview" {
				upstreams[line.Upstream]++
			}
		}
		return upstreams[address(one)] == users/2 && upstreams[address(two)] == users/2
	})
}

// nginx is healthy by itself. Its health check takes no turn of an instance, and a dead instance keeps nobody from starting it again: of a
// service that depends on an unhealthy one, docker compose up starts nothing.
func TestNginxIsHealthyByItself(t *testing.T) {
	testenv.Needs(t, testenv.Curl)
	p, err := composefiles.Load(t.Context(), "..", "single")
	if err != nil {
		t.Fatal(err)
	}
	service := p.Files.Services["nginx"]
	check := service.HealthCheck.Test[1:] // without CMD
	one, two := instances(t)
	n := start(t, address(one), address(two))
	one.Close()
	two.Close()
	var args []string
	for _, arg := range check[1:] {
		args = append(args, strings.Replace(arg, "http://127.0.0.1:8000", n.url, 1))
	}
	asks := exec.Command(check[0], args...)
	for name, value := range service.Environment {
		asks.Env = append(asks.Env, name+"="+*value)
	}
	asks.Env = append(asks.Env, "PATH="+os.Getenv("PATH"), "http_proxy=http://127.0.0.1:1")
	if out, err := asks.CombinedOutput(); err != nil || len(n.lines(t)) > 0 {
		t.Errorf("%v: %s; the log has %v", err, out, n.lines(t))
	}
}

// line is a line of the access log.
type line struct {
	Time, Request, Upstream string
	RequestID               string `json:"request_id"`
	Status                  int
	Seconds                 float64
	UpstreamSeconds         string `json:"upstream_seconds"`
}

func (n nginx) lines(t *testing.T) []line {
	t.Helper()
	file, err := os.Open(n.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []line
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			t.Fatalf("%v: %s", err, scanner.Text())
		}
		if l.Time == "" || l.RequestID == "" || l.UpstreamSeconds == "" {
			t.Fatalf("a field is missing in the access log: %s", scanner.Text())
		}
		all = append(all, l)
	}
	return all
}

// A stopped instance keeps its place in the round robin: exactly half of the requests fail, and the answer names the instance.
func TestAStoppedInstanceIsNotHidden(t *testing.T) {
	one, two := instances(t)
	page := httptest.NewServer(nil)
	t.Cleanup(page.Close) // also where there is no nginx
	n := start(t, address(one), address(two), "page:8070", address(page))
	page.Close()
	two.Close()
	statuses := map[int]int{}
	for range 40 {
		response, err := http.Post(n.url+"/v0/pview", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Instance, Error string }
		err = json.NewDecoder(response.Body).Decode(&body)
		response.Body.Close()
		statuses[response.StatusCode]++
		who := response.Header.Get("X-Instance")
		if response.StatusCode == http.StatusOK && (who != address(one) || body.Instance != "8080") ||
			response.StatusCode == http.StatusBadGateway && (who != address(two) || !strings.Contains(body.Error, who)) || err != nil {
			t.Fatalf("%s of %q: %+v, %v", response.Status, who, body, err)
		}
	}
	if statuses[http.StatusOK] != 20 || statuses[http.StatusBadGateway] != 20 {
		t.Errorf("one of two instances is stopped, and 40 requests got %v", statuses)
	}
	for path, want := range map[string]string{
		"/app-1/healthz": "", "/app-2/healthz": "the instance " + address(two) + " gives no answer", "/ui/": "docker compose logs page",
	} {
		response, err := http.Get(n.url + path)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Error string }
		err = json.NewDecoder(response.Body).Decode(&body)
		response.Body.Close()
		if err != nil || (body.Error == "") != (want == "") || !strings.Contains(body.Error, want) ||
			(response.StatusCode == http.StatusOK) != (want == "") {
			t.Errorf("%s answers %s, %+v, %v; want %q", path, response.Status, body, err, want)
		}
	}
}

// Requests to the live page do not count in the round robin, and no buffer holds its events back.
func TestThePageIsBesideTheInstances(t *testing.T) {
	one, two := instances(t)
	more := make(chan struct{})
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("data: " + r.URL.Path + " " + r.Host + "\n"))
		_ = http.NewResponseController(w).Flush()
		<-more
	}))
	t.Cleanup(page.Close)
	n := start(t, address(one), address(two), "page:8070", address(page))
	response, err := http.Get(n.url + "/ui/events?of=x")
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if want := "data: /ui/events " + strings.TrimPrefix(n.url, "http://") + "\n"; line != want || err != nil {
		t.Errorf("it gets %q, %v; want %q", line, err, want)
	}
	close(more)
	response.Body.Close()
	// A redirect names no port: nginx listens on another one than the machine publishes, and on a shared machine that is another lab's.
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if response, err = stay.Get(n.url + "/ui"); err != nil || response.Header.Get("Location") != "/ui/" {
		t.Fatalf("/ui leads to %v (%v)", response, err)
	}
	response.Body.Close()
	record, err := burst.RunViews(t.Context(), burst.Target{URL: n.url}, "v0", 20, burst.Simultaneous)
	if got := record.PerInstance(); err != nil || got["8080"] != 10 || got["8090"] != 10 {
		t.Errorf("the instances got %v, %v", got, err)
	}
}

// nginx does not repeat a request that an instance may have executed. The test sends GET and POST to both instances.
func TestNoRequestIsRetried(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  int
		edits []string // a short timeout, where it is to end
	}{
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http.StatusBadGateway, nil},
		"late answer": {
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, http.StatusBadGateway,
			[]string{"proxy_read_timeout 65m", "proxy_read_timeout 200ms"},
		},
		"an error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, http.StatusServiceUnavailable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				c.serve(w, r)
			}))
			defer counted.Close()
			n := start(t, address(counted), address(counted), c.edits...)
			for i, method := range []string{http.MethodPost, http.MethodGet} {
				request, _ := http.NewRequest(method, n.url+"/v0/pview", nil)
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != c.want || asked.Load() != int64(i+1) {
					t.Errorf("%s: %s, and the instances got %d requests for %d", method, response.Status, asked.Load(), i+1)
				}
			}
		})
	}
}

// deploy/nginx.conf is the balancer of containers and of Kubernetes, whose kustomization cannot read it there.
func TestKubernetesHasTheSameBalancer(t *testing.T) {
	conf, err := os.ReadFile("nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := os.ReadFile("nginx/nginx.conf"); !bytes.Equal(conf, copied) {
		t.Errorf("cp deploy/nginx.conf deploy/nginx/nginx.conf was not run (%v)", err)
	}
}
