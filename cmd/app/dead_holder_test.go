//go:build unix

package main

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// flagDefault returns the default of a flag of app serve.
func flagDefault(t *testing.T, field string) time.Duration {
	t.Helper()
	f, found := reflect.TypeFor[serveCommand]().FieldByName(field)
	d, err := time.ParseDuration(f.Tag.Get("default"))
	if !found || err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	return d
}

// The instance of a lock holder is killed while all drivers of another instance wait. They wait longer than for the lease of the dead
// holder: lease and wait are two fifths of their defaults.
func TestWaitersSurviveAKilledHolder(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	const drivers = 10
	node := testenv.Redis(t, false)
	flags := []string{
		"--database=" + testenv.Stack(t).SQLite(),
		fmt.Sprintf("--lease=%s", flagDefault(t, "Lease")*2/5), fmt.Sprintf("--wait=%s", flagDefault(t, "Wait")*2/5),
	}
	holder := startInstance(t, node, append(flags, "--order-think=1h")...)
	living := startInstance(t, node, append(flags, "--order-think=0s")...)
	_, lost := startGrab(t, holder, node)
	status := make(chan int, drivers)
	for driver := range drivers {
		go func() {
			code, _, _, _ := send(testenv.Context(t), http.MethodPost, fmt.Sprintf("%s/v3/orders/1/grab?driver=%d", living.URL, driver+1))
			status <- code
		}()
	}
	testenv.Eventually(t, "all of them wait", func() bool { // one waits in Redis, the others in the queue of the process
		_, _, metrics := ask(t, http.MethodGet, living.URL+"/metrics")
		return strings.Contains(metrics, fmt.Sprintf("locklab_gate_waiting{version=\"v3\"} %d\n", drivers-1))
	})
	holder.Kill()
	count := map[int]int{}
	for range drivers {
		count[<-status]++
	}
	if answer := <-lost; strings.HasPrefix(answer, "OK") || count[http.StatusOK] != 1 || count[http.StatusConflict] != drivers-1 {
		t.Errorf("after the holder's death (%s) the drivers got %v; want one 200, and 409 for the others", answer, count)
	}
}

// After SIGTERM, an instance finishes its requests, and ends with exit code 0. A request that waits for a lock longer than --wait gets 503
// with Retry-After; its holder is not disturbed. The instance is named after its port.
func TestSIGTERMFinishesRequests(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, false)
	instance := startInstance(t, node, "--wait=500ms", "--order-think=5s")
	if !strings.HasSuffix(instance.URL, ":"+instance.Name) {
		t.Errorf("the instance at %s is called %q", instance.URL, instance.Name)
	}
	admin, answer := startGrab(t, instance, node)
	status, header, body := ask(t, http.MethodPost, instance.URL+"/v3/orders/1/grab?driver=8")
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s, want 503 with Retry-After", status, header, body)
	}
	if err := syscall.Kill(instance.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "new connections are refused", func() bool { return !listens(instance.URL) })
	if got := <-answer; !strings.HasPrefix(got, "OK") || !strings.Contains(got, `"won":true`) {
		t.Errorf("the request was not finished: %s", got)
	}
	if status := instance.Status(); status != "exit status 0" {
		t.Error(status)
	}
	if admin.Exists(t.Context(), "lock:order:{1}").Val() != 0 {
		t.Error("the lock is still held")
	}
}
