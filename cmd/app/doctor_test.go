package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/lab/doctor"
)

// composeDir contains docker-compose.yml.
const composeDir = "../.."

// only returns the flag that skips all checks except the named ones.
func only(names ...string) string {
	return "--skip=" + strings.Join(slices.DeleteFunc(doctor.Names(), func(name string) bool { return slices.Contains(names, name) }), ",")
}

func TestDoctorSkip(t *testing.T) {
	got := app(t.Context(), "doctor", "--skip", "ports,memry")
	if got.code != exitUsage || !strings.Contains(got.err, `but got "memry"`) || got.out != "" {
		t.Fatalf("exit %d: %s%s", got.code, got.out, got.err)
	}
	help := strings.Join(strings.Fields(app(t.Context(), "doctor", "--help").out), " ")
	if !strings.Contains(help, strings.Join(doctor.Names(), ", ")) {
		t.Errorf("the help does not list all checks: %s", help)
	}
}

func TestDoctorOutsideOfACheckout(t *testing.T) {
	got := app(t.Context(), "doctor", "--dir", t.TempDir(), only("files", "ports"))
	if got.code != exitUnexpected || !strings.Contains(got.out, "no docker-compose.yml in") || !strings.Contains(got.out, "--dir") {
		t.Fatalf("exit %d: %s%s", got.code, got.out, got.err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker-compose.yml"), []byte("services: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got = app(t.Context(), "doctor", "--dir", dir, only("files", "ports"))
	if got.code != exitUnexpected || !strings.Contains(got.out, "--dir") || strings.Contains(got.out, "ports  ") {
		t.Fatalf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

func TestDoctorAsJSON(t *testing.T) {
	got := app(t.Context(), "doctor", "--dir", composeDir, only("files"), "--json")
	var result struct {
		OK     bool
		Checks []struct {
			Check, Name, Found string
			OK                 bool
		}
	}
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitOK {
		t.Fatalf("exit %d: %v: %s%s", got.code, err, got.out, got.err)
	}
	if !result.OK || len(result.Checks) != 1 {
		t.Fatalf("%+v", result)
	}
	if c := result.Checks[0]; !c.OK || c.Check != "files" || !strings.Contains(c.Found, "docker-compose.yml") {
		t.Errorf("%+v", result)
	}
}

// The doctor names the process that uses a port, and the file that changes the port.
func TestDoctorFindsAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	t.Setenv("NGINX_PORT", port)
	got := app(t.Context(), "doctor", "--dir", composeDir, only("ports"))
	if got.code != exitUnexpected || !strings.Contains(got.out, "port "+port) || !strings.Contains(got.out, "nginx") ||
		!strings.Contains(got.out, "(pid "+strconv.Itoa(os.Getpid())+")") || !strings.Contains(got.out, "in .env") {
		t.Fatalf("exit %d: %s%s", got.code, got.out, got.err)
	}
}
