//go:build unix

package servers_test

import (
	"net/http"
	"reflect"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// An instance ends the connection without an answer. nginx sends a GET to the next one, and a POST to none. Its log says so.
func TestNginxSendsOnlyAGETAgain(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Nginx)
	dead := serveHTTP(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	alive := serveHTTP(t, func(http.ResponseWriter, *http.Request) {})
	for method, want := range map[string]servers.Passed{
		http.MethodGet:  {To: []string{dead, alive}, Status: http.StatusOK},
		http.MethodPost: {To: []string{dead}, Status: http.StatusBadGateway},
	} {
		nginx, err := testenv.Stack(t).Nginx(testenv.Context(t), []*servers.Instance{{URL: "http://" + dead}, {URL: "http://" + alive}})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), method, nginx.URL+"/v3/pview", nil)
		r.Header.Set("X-Request-Id", "view 1")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		want.Request = "view 1"
		if passed, err := nginx.End(); err != nil || len(passed) != 1 || !reflect.DeepEqual(passed[0], want) {
			t.Errorf("%s: %+v, %v; want %+v", method, passed, err, want)
		}
	}
}

// An instance at whose address nobody listens has got nothing.
func TestNginxCountsOnlyInstancesThatItReached(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Nginx)
	stack := testenv.Stack(t)
	nobody, err := stack.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	alive := serveHTTP(t, func(http.ResponseWriter, *http.Request) {})
	nginx, err := stack.Nginx(testenv.Context(t), []*servers.Instance{{URL: "http://" + nobody[0]}, {URL: "http://" + alive}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(nginx.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	want := []servers.Passed{{To: []string{alive}, Status: http.StatusOK}}
	if passed, err := nginx.End(); err != nil || !reflect.DeepEqual(passed, want) {
		t.Errorf("%+v, %v; want %+v", passed, err, want)
	}
}
