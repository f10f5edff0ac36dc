package doctor

import "testing"

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
