package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryIsTheEnginesWhereItHasLess(t *testing.T) {
	for _, c := range []struct {
		engine, total, available uint64
		ok                       bool
		words                    string
	}{
		{0, 16 * gib, 8 * gib, true, "16.0 GiB, 8.0 GiB of it available"},
		{0, 16 * gib, 1 * gib, false, "close programs"},
		{16 * gib, 16 * gib, 1 * gib, false, "close programs"},
		{16*gib - 1<<20, 16 * gib, 8 * gib, true, "available"},
		{4 * gib, 16 * gib, 1 * gib, true, "Docker has 4.0 GiB"},
		{2*gib - 1, 16 * gib, 8 * gib, false, "Docker Desktop"},
	} {
		want(t, judgeMemory(c.engine, c.total, c.available), c.ok, c.words)
	}
	m := answering(Lab{}, map[string]string{"docker info": `{"MemTotal":1}`})
	want(t, m.memory(t.Context()), false, "Docker has 0.0 GiB of this machine's")
}

// A child needs 4096 open files. A machine without a limit is fine, and one that cannot be asked is not.
func TestOpenFiles(t *testing.T) {
	for limit, ok := range map[string]bool{"unlimited": true, "4096": true, "4095": false} {
		want(t, answering(Lab{}, map[string]string{"sh -c": limit}).limits(t.Context()), ok, limit+" open files")
	}
	want(t, answering(Lab{}, nil).limits(t.Context()), false, "ulimit -n 8192")
}

func TestASubnetOfAnInterfaceIsAProblem(t *testing.T) {
	for subnet, ok := range map[string]bool{"198.51.100.0/24": true, "127.0.0.0/24": false, ".0/24": false} { // RFC 5737, all have it, none
		want(t, answering(Lab{Subnet: subnet}, nil).subnet(t.Context()), ok)
	}
	want(t, answering(Lab{Subnet: "127.0.0.0/24"}, nil).subnet(t.Context()), false, "the interface lo", "127.0.0.0/8", "set LAB_NET=")
}

// The redis-server of Ubuntu 22.04 refuses the lock's scripts. None at all is no problem.
func TestARedisServerMustBeNewEnough(t *testing.T) {
	for version, ok := range map[string]bool{"6.0.16": false, "6.2.0": true, "7.0.15": true, "8.2.1": true} {
		answers := map[string]string{"redis-server --version": "Redis server v=" + version + " sha=00000000:0 malloc=jemalloc-5.2.1"}
		want(t, answering(Lab{}, answers).redis(t.Context()), ok, version)
	}
	want(t, answering(Lab{}, nil).redis(t.Context()), true, "demo has miniredis")
}

func TestK6MustBeNewEnough(t *testing.T) {
	for text, ok := range map[string]bool{"k6 v1.8.1 (go1.26.8, linux/amd64)": true, "k6 v2.0.0": true, "k6 v0.57.0 (go1.24)": false} {
		want(t, answering(Lab{}, map[string]string{"k6 version": text}).k6(t.Context()), ok)
	}
	want(t, answering(Lab{}, nil).k6(t.Context()), false, "k6 is not on the PATH", "--skip k6")
}

func TestJMeterIsStartedByTheLauncherAndMustBeNewEnough(t *testing.T) {
	dir := t.TempDir()
	launcher := filepath.Join(dir, "loadtest", "jmeter", "jmeter")
	const banner = " / ___ \\|  __/ ___\n/_/   \\_\\_| /_/   \\_\\____|_| |_|_____|  %s\n\nCopyright (c) 1999-2024"
	answers := map[string]string{
		launcher + " --version": fmt.Sprintf(banner, "5.6.3"),
		"jmeter --version":      fmt.Sprintf(banner, "5.5"),
	}
	want(t, answering(Lab{Dir: dir}, answers).jmeter(t.Context()), false, "5.5; it must be 5.6 or newer", "--skip jmeter")
	if err := os.MkdirAll(filepath.Dir(launcher), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(launcher, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	want(t, answering(Lab{Dir: dir}, answers).jmeter(t.Context()), true, "5.6.3")
	answers[launcher+" --version"] = "Error There is no JMeter: run mvn"
	want(t, answering(Lab{Dir: dir}, answers).jmeter(t.Context()), false, "There is no JMeter", "install Java 17", "--skip jmeter")
}
