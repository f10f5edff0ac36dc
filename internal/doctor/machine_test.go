package doctor

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMemoryIsTheEnginesWhereItHasLess(t *testing.T) {
	const gib = oneGiB
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
}

func TestDriftIsWhatTheCallCannotExplain(t *testing.T) {
	before := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	after := before.Add(3 * time.Second) // docker took its time
	for engine, drift := range map[time.Duration]time.Duration{
		0: 0, time.Second: 0, 3 * time.Second: 0, -2 * time.Second: -2 * time.Second, 10 * time.Second: 7 * time.Second,
	} {
		if got := driftOf(before.Add(engine), before, after); got != drift {
			t.Errorf("%s after the question: %s, want %s", engine, got, drift)
		}
	}
}

func TestTheClockIsComparedWithTheBuildAndTheEngine(t *testing.T) {
	engineAt := func(d time.Duration) map[string]printed {
		return map[string]printed{"docker info": {out: time.Now().Add(d).UTC().Format(time.RFC3339Nano)}}
	}
	want(t, answering(Lab{}, engineAt(0)).clock(t.Context()), true, "the same")
	want(t, answering(Lab{}, engineAt(-time.Minute)).clock(t.Context()), false, "behind", "restart Docker Desktop")
	want(t, answering(Lab{}, engineAt(time.Hour)).clock(t.Context()), false, "ahead")
	want(t, answering(Lab{}, nil).clock(t.Context()), true, "could not be asked")
	want(t, answering(Lab{Built: time.Now().Add(time.Hour)}, nil).clock(t.Context()), false, "set the clock")
}

func TestDiskIsFoundWithoutDocker(t *testing.T) {
	got := answering(Lab{Dir: t.TempDir()}, nil).disk(t.Context())
	if len(got) != 1 || !strings.Contains(got[0].Found, "free in") {
		t.Fatalf("%+v", got)
	}
}

func TestK6MustBeNewEnough(t *testing.T) {
	for text, ok := range map[string]bool{"k6 v1.8.1 (go1.26.8, linux/amd64)": true, "k6 v2.0.0": true, "k6 v0.57.0 (go1.24)": false} {
		want(t, answering(Lab{}, map[string]printed{"k6 version": {out: text}}).k6(t.Context()), ok)
	}
	want(t, answering(Lab{}, nil).k6(t.Context()), false, "no k6", "--skip k6")
}

// unpackJMeter makes a directory bin with an archive of that version.
func unpackJMeter(t *testing.T, bin, version string) {
	t.Helper()
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(bin, "ApacheJMeter.jar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	manifest, err := archive.Create("META-INF/MANIFEST.MF")
	if err != nil {
		t.Fatal(err)
	}
	manifest.Write([]byte("Manifest-Version: 1.0\r\nImplementation-Version: " + version + "\r\n"))
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestJMeterIsFoundInItsPlacesAndMustBeNewEnough(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("JMETER_HOME", "")
	m := answering(Lab{Dir: dir}, map[string]printed{"java": {out: `openjdk version "17.0.15" 2025-04-15`}})
	want(t, m.jmeter(t.Context()), false, "none", "--skip jmeter")
	unpackJMeter(t, filepath.Join(home, "bin"), "5.5")
	t.Setenv("JMETER_HOME", home)
	want(t, m.jmeter(t.Context()), false, "5.5 in", "5.6 or newer")
	unpackJMeter(t, filepath.Join(dir, "loadtest", "jmeter", "target", "some-uuid", "jmeter", "bin"), "5.6.3")
	want(t, m.jmeter(t.Context()), true, "5.6.3 in loadtest", "Java 17")
}

func TestJavaMustBeNewEnough(t *testing.T) {
	t.Setenv("JAVA_HOME", "")
	for text, words := range map[string]string{
		`openjdk version "17.0.15" 2025-04-15`: "ok Java 17", `openjdk version "25" 2025-09-16`: "ok Java 25",
		`java version "1.8.0_392"`: "ok 17 is recommended", `openjdk version "11.0.2"`: "ok 17 is recommended",
		`java version "1.7.0_80"`: "no 8 or newer", `The operation couldn’t be completed.`: "no says no version",
	} {
		state, found, _ := strings.Cut(words, " ")
		m := answering(Lab{}, map[string]printed{"java": {out: text}})
		want(t, m.java(t.Context(), "5.6.3"), state == "ok", found)
	}
	want(t, answering(Lab{}, nil).java(t.Context(), "5.6.3"), false, "install Java 17")
}
