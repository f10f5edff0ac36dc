package compose_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// lab is this checkout.
const lab = "../../.."

// small is a checkout with little in it, whose defaults say env.
func small(t *testing.T, env string) string {
	t.Helper()
	testenv.WithoutShell(t, lab)
	composefiles.Docker(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deploy/defaults.env": "WEB_PORT=7002\nDATA_PORTS=700\nBACKENDS=0\n" + env,
		"docker-compose.yml": `name: small
include: [{path: "deploy/redis-topologies/${TOPOLOGY:-single}.yaml", env_file: deploy/defaults.env}]
services:
  web:
    image: nginx:1.22.1
    ports: ["127.0.0.1:7009:81", "127.0.0.1:${WEB_PORT}:80"]
  db:
    image: mysql:8.4.3
    ports: ["127.0.0.1:${DATA_PORTS}3:3306", "3307"]
  more:
    image: etcd:3.4.23
    ports: ["127.0.0.1:7001:2379"]
    scale: ${BACKENDS:-0}
  app-1:
    image: locklab:dev
    scale: 0
    environment: {LAB_TOPOLOGY: "${TOPOLOGY:-single}", WEB_PORT: "${WEB_PORT}"}
  load:
    image: grafana/k6:1.8.1
    profiles: [load]
`,
		"deploy/redis-topologies/single.yaml": "services: {redis-single: {image: redis:7.0.15, networks: {lab: {ipv4_address: 10.0.0.7}}}}\n" +
			"networks: {lab: {}}\n",
		"deploy/redis-topologies/cluster.yaml": "services: {cluster-1: {image: redis:7.0.15}, cluster-2: {image: redis:7.0.15}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads the files in dir, which have no errors.
func load(t *testing.T, dir, topology string) *compose.Project {
	t.Helper()
	p, err := compose.Load(t.Context(), dir, topology)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantError compares an error with what it must say.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("there is no error; want one that says %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}
