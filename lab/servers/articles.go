package servers

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// articles is the folder of the articles' Java, in a checkout.
const articles = "examples/articles"

// The versions of Redisson with which it is built.
const (
	Redisson = "4.7.0"
	// RedissonA4 has the listing that A4 prints, as have 3.13.3 to 3.15.1.
	RedissonA4 = "3.14.0"
)

// ArticlesJava is java and what Maven builds of the articles' code, in the checkout of the working directory.
var ArticlesJava = Program{Name: articles, Built: true, find: func() error {
	_, err := articlesClasspath(Redisson)
	_, old := articlesClasspath(RedissonA4)
	return cmp.Or(err, old)
}, version: func() string { return "" }}

// ArticlesCommand is the command line that runs a class of examples/articles, with a version of Redisson. The flags are for a quick start
// on a small machine.
func ArticlesCommand(redisson, class string, args ...string) ([]string, error) {
	classpath, err := articlesClasspath(redisson)
	if err != nil {
		return nil, ArticlesJava.Missing()
	}
	return append([]string{
		"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", classpath, class,
	}, args...), nil
}

// articlesClasspath finds the jar files that were built with a version of Redisson.
func articlesClasspath(redisson string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, filepath.FromSlash(articles))
		if _, err := os.Stat(filepath.Join(folder, "pom.xml")); err == nil {
			if _, err := exec.LookPath("java"); err != nil {
				return "", errors.New("no java is on the PATH: install Java 17 and Maven, then run make articles")
			}
			return builtIn(folder, filepath.Join(folder, "target", redisson))
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the working directory is not in a checkout of Locklab (git clone), in which make articles builds it")
		}
	}
}

// builtIn is the class path of what was built of a folder. Classes that are older than their sources do not count.
func builtIn(folder, target string) (string, error) {
	jar := filepath.Join(target, "articles-1.jar")
	built, err := os.Stat(jar)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("it is not built: " + howToBuild())
	}
	if err != nil {
		return "", err
	}
	sources, _ := filepath.Glob(filepath.Join(folder, "*.java"))
	sources = append(sources, filepath.Join(folder, "pom.xml"), filepath.Join(folder, "..", "locks", "template-java", "Lab.java"))
	for _, source := range sources {
		if written, err := os.Stat(source); err == nil && written.ModTime().After(built.ModTime()) {
			return "", fmt.Errorf("%s has changed since it was built: %s", filepath.Base(source), howToBuild())
		}
	}
	return jar + string(os.PathListSeparator) + filepath.Join(target, "lib", "*"), nil
}

// howToBuild says what to do with a java on the PATH.
func howToBuild() string {
	if _, err := exec.LookPath("mvn"); err != nil {
		return "install Maven, then run make articles"
	}
	return "run make articles"
}
