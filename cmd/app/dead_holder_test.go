//go:build unix

package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers/compose"
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

// A request that has waited for the lease of a dead holder needs the rest of its wait for the queue. So the lease is at most half of the
// wait.
func TestTheDefaultLeaseIsShorterThanTheDefaultWait(t *testing.T) {
	testenv.WithoutShell(t, composeDir)
	project, err := compose.Load(t.Context(), composeDir, "")
	if err != nil {
		t.Fatal(err)
	}
	for where, of := range map[string]func(flag, variable string) string{
		"serve":                func(flag, _ string) string { return flagDefault(t, flag).String() },
		"docker-compose.yml's": func(_, variable string) string { return project.Variable(variable) },
	} {
		lease, err := time.ParseDuration(of("Lease", "LEASE"))
		if err != nil {
			t.Fatal(err)
		}
		wait, err := time.ParseDuration(of("Wait", "WAIT"))
		if err != nil || 2*lease > wait {
			t.Errorf("%s lease is %s and wait %s (%v)", where, lease, wait, err)
		}
	}
}

// The instance of a lock holder is killed while all drivers of another instance wait. Lease and wait are three tenths of their defaults.
func TestWaitersSurviveAKilledHolder(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	const drivers = 10
	node := testenv.Redis(t, false)
	flags := []string{
		"--database=sqlite:" + filepath.Join(t.TempDir(), "orders.db"),
		fmt.Sprintf("--lease=%s", flagDefault(t, "Lease")*3/10), fmt.Sprintf("--wait=%s", flagDefault(t, "Wait")*3/10),
	}
	holder := startInstance(t, node, append(flags, "--order-think=1h")...)
	living := startInstance(t, node, append(flags, "--order-think=0s")...)
	ask(t, http.MethodPost, holder.URL+"/orders")
	grab := func(url string, driver int) (int, error) {
		response, err := http.Post(fmt.Sprintf("%s/v3/orders/1/grab?driver=%d", url, driver), "", nil)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	lost := make(chan error, 1)
	go func() { _, err := grab(holder.URL, 99); lost <- err }()
	admin := redis.NewClient(&redis.Options{Addr: node.Addr})
	defer admin.Close()
	testenv.Eventually(t, "the lock is held", func() bool { return admin.Exists(t.Context(), "lock:order:{1}").Val() == 1 })
	status := make(chan int, drivers)
	for driver := range drivers {
		go func() { code, _ := grab(living.URL, driver+1); status <- code }()
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
	if err := <-lost; err == nil || count[http.StatusOK] != 1 || count[http.StatusConflict] != drivers-1 {
		t.Errorf("after the holder's death (%v) the drivers got %v; want one 200, and 409 for the others", err, count)
	}
}
