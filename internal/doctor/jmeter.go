package doctor

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	howToGetJMeter = "make jmeter (from Maven Central), or unpack JMeter 5.6.3 (https://jmeter.apache.org/download_jmeter.cgi) and put its bin on the PATH; without: app doctor --skip jmeter"
	howToGetJava   = "install Java 17 (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17); without: --skip jmeter"
)

// jmeter checks that one of those on this machine is new enough, and the Java that it needs. It is
// not started: it reads its version out of its archive, for a start takes seconds and leaves a log.
func (m machine) jmeter(ctx context.Context) []Result {
	found := "none on the PATH, in JMETER_HOME or loadtest/jmeter/target"
	for _, archive := range m.jmeters() {
		v := cmp.Or(versionOfJar(archive), version(filepath.Base(archive)))
		newEnough, known := atLeast(v, 5, 6)
		if newEnough || !known {
			return m.java(ctx, fmt.Sprintf("%s in %s", cmp.Or(v, "JMeter of unknown version"), m.near(filepath.Dir(archive))))
		}
		found = fmt.Sprintf("%s in %s; it must be 5.6 or newer", v, filepath.Dir(archive))
	}
	return problem(found, howToGetJMeter)
}

// jmeters are the archives of all that are found, the likeliest to be started first.
func (m machine) jmeters() []string {
	var places, archives []string
	if program, err := exec.LookPath("jmeter"); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
		bin := filepath.Dir(program)
		places = append(places, bin, filepath.Join(bin, "..", "libexec", "bin"), filepath.Join(bin, "..", "share", "jmeter", "bin"))
	}
	if home := os.Getenv("JMETER_HOME"); home != "" {
		places = append(places, filepath.Join(home, "bin"))
	}
	places = append(places, filepath.Join(m.lab.Dir, "loadtest", "jmeter", "target", "*", "jmeter", "bin"))
	for _, place := range places {
		found, _ := filepath.Glob(filepath.Join(place, "ApacheJMeter*.jar"))
		archives = append(archives, found...)
	}
	return archives
}

// near is a shorter name of a place in the checkout.
func (m machine) near(place string) string {
	short, err := filepath.Rel(m.lab.Dir, place)
	if err != nil || strings.HasPrefix(short, "..") {
		return place
	}
	return short
}

var implementation = regexp.MustCompile(`(?m)^Implementation-Version: (\S+)`)

// versionOfJar reads the manifest, "" when there is none to be read.
func versionOfJar(name string) string {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return ""
	}
	defer func() { _ = archive.Close() }() // nothing was written
	text, _ := fs.ReadFile(archive, "META-INF/MANIFEST.MF")
	if match := implementation.FindSubmatch(text); match != nil {
		return version(string(match[1]))
	}
	return ""
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`) // 8 was called 1.8

// java checks the one that JMeter would take.
func (m machine) java(ctx context.Context, jmeter string) []Result {
	program := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		program = filepath.Join(home, "bin", "java")
	}
	got, err := m.run(ctx, program, "-version")
	match := javaVersion.FindStringSubmatch(got.err + got.out)
	if err != nil || match == nil {
		return problem(fmt.Sprintf("%s; %s -version says no version", jmeter, program), howToGetJava)
	}
	found := fmt.Sprintf("%s, Java %s", jmeter, match[1])
	switch major := match[1]; {
	case len(major) == 1 && major < "8":
		return problem(found+"; it must be 8 or newer", howToGetJava)
	case len(major) == 1 || len(major) == 2 && major < "17":
		found += " (17 is recommended)"
	}
	return ok(found)
}
