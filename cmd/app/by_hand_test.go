//go:build unix

package main

import (
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/testenv"
)

// Every block of docs/run-by-hand.md works on its own, and the last one stops everything. The test replaces the ports and the folder of the
// page by free ones.
func TestInstancesByHand(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	all := blocks(moveToFreePorts(t, page(t, "docs/run-by-hand.md"), t.TempDir()))
	if len(all) != 7 {
		t.Fatalf("the page has %d blocks; want one to build, five to serve and one to stop", len(all))
	}
	serve, stop := all[1:6], all[6]
	defer func() {
		if out, err := exec.Command("sh", "-c", stop).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		for _, port := range regexp.MustCompile(`\b\d{5}\b`).FindAllString(stop, -1) {
			testenv.Eventually(t, "no server listens on "+port, func() bool { return !listens("http://127.0.0.1:" + port) })
		}
	}()
	for _, block := range serve {
		listen := "127.0.0.1:" + freePort(t)
		cmd := exec.Command("sh", "-c", strings.Replace(block, "./app ", clusterCheck(block)+"exec '"+program(t)+"' ", 1))
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "LAB_LISTEN="+listen, "LAB_START_TIMEOUT=30s")
		if !strings.Contains(block, "--redis ") { // it uses the default port, which was replaced
			cmd.Env = append(cmd.Env, "LAB_REDIS=127.0.0.1:"+regexp.MustCompile(`--port (\d+)`).FindStringSubmatch(block)[1])
		}
		logFile, err := os.CreateTemp(t.TempDir(), "log")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = logFile, logFile
		t.Cleanup(func() {
			if text, _ := os.ReadFile(logFile.Name()); t.Failed() {
				t.Logf("%s%s", block, text)
			}
		})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		path := "/v3/pview"
		if strings.Contains(block, "--redlock") {
			path = "/v4/pview"
		}
		testenv.Eventually(t, block+"answers "+path, func() bool {
			answer, err := http.Post("http://"+listen+path, "", nil)
			if err != nil {
				return false
			}
			defer answer.Body.Close()
			return answer.StatusCode == http.StatusOK
		})
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s%v", block, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// clusterCheck returns a command that fails unless every node of the block's cluster is up, or nothing for a block without a cluster.
func clusterCheck(block string) string {
	if !strings.Contains(block, "--cluster create") {
		return ""
	}
	ports, _, _ := strings.Cut(strings.TrimPrefix(block, "for p in "), ";")
	return "for p in " + ports + "; do redis-cli -p $p cluster info | grep -q cluster_state:ok || { echo $p is down; exit 1; }; done\n"
}

// moveToFreePorts replaces each port in text by a free one, and the folder for the servers' files by dir.
func moveToFreePorts(t *testing.T, text, dir string) string {
	moved := map[string]string{}
	text = regexp.MustCompile(`\b(6[34]\d\d|71\d\d|264\d\d)\b`).ReplaceAllStringFunc(text, func(port string) string {
		for moved[port] == "" {
			if drawn := freePort(t); !slices.Contains(slices.Collect(maps.Values(moved)), drawn) {
				moved[port] = drawn
			}
		}
		return moved[port]
	})
	return strings.ReplaceAll(text, "/tmp/lab-", dir+"/lab-")
}

// freePort returns a port that is free together with the port 10000 above it, which a cluster node uses, too.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		_, port, _ := net.SplitHostPort(testenv.FreeAddr(t))
		n, _ := strconv.Atoi(port)
		if bus, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(n+10_000)); err == nil {
			bus.Close()
			return port
		}
	}
}
