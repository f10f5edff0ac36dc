package interop_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// redissonVersions are the newest, the last before 4.0, which most services still run, and that of A1.
var redissonVersions = []string{"4.7.0", "3.52.0", oldest}

// oldest is older than Java's modules. It reads private fields of these packages, and does not start without.
const oldest = "3.2.3"

var opens = []string{"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.net=ALL-UNNAMED"}

// sources are what the classes are made of.
const sources = "src/main/java/locklab/interop/*.java"

// build compiles the JVM's side against a version and returns its class path. The result of an earlier run
// from the same sources is used again.
func build(ctx context.Context, t *testing.T, version string) string {
	t.Helper()
	target := filepath.Join("target", version)
	stamp, made := filepath.Join(target, "sources.sha256"), sum(t)
	if before, err := os.ReadFile(stamp); err != nil || string(before) != made {
		// Offline first: Maven asks nobody when it has everything.
		arguments := []string{"-q", "-B", "-Dredisson.version=" + version, "clean", "process-classes"}
		if _, err := exec.CommandContext(ctx, "mvn", append([]string{"-o"}, arguments...)...).CombinedOutput(); err != nil {
			out, err := exec.CommandContext(ctx, "mvn", arguments...).CombinedOutput()
			unreachable(t, string(out), err)
		}
		if err := os.WriteFile(stamp, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join([]string{filepath.Join(target, "classes"), filepath.Join(target, "lib", "*")}, string(os.PathListSeparator))
}

// unreachable ends the test if Maven failed. An unreachable registry is an unmet need.
func unreachable(t *testing.T, out string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case strings.Contains(out, "Could not transfer"):
		testenv.Skip(t, "Maven Central cannot be reached: "+out)
	default:
		t.Fatalf("mvn: %v: %s", err, out)
	}
}

// sum tells one state of the sources from another.
func sum(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(sources)
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	all := sha256.New()
	for _, file := range append(files, "pom.xml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%s %d\n%s", file, len(text), text)
	}
	return fmt.Sprintf("%x", all.Sum(nil))
}

// jvm starts Redisson. The flags are for a quick start on a small machine.
func jvm(t *testing.T, name, version, classpath string) *peer {
	t.Helper()
	command := []string{
		"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classpath,
	}
	if version == oldest {
		command = append(command, opens...)
	}
	return startPeer(t, name, append(command, "locklab.interop.Peer")...)
}
