package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// articles is the folder of the articles' Java, in a checkout.
const articles = "examples/articles"

// ArticlesJava is java and what Maven builds of the articles' code, in the checkout of the working directory.
var ArticlesJava = Program{Name: articles, Build: "mvn -q -f " + articles + "/pom.xml package", find: func() error {
	_, err := articlesClasspath()
	return err
}, version: func() string { return "" }}

// ArticlesCommand is the command line that runs a class of examples/articles. The flags are for a quick start on a small machine.
func ArticlesCommand(class string, args ...string) ([]string, error) {
	classpath, err := articlesClasspath()
	if err != nil {
		return nil, ArticlesJava.Missing()
	}
	return append([]string{
		"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", classpath, class,
	}, args...), nil
}

// articlesClasspath finds the jar files.
func articlesClasspath() (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", errors.New("no java is on the PATH")
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, filepath.FromSlash(articles))
		if _, err := os.Stat(filepath.Join(folder, "pom.xml")); err == nil {
			return builtIn(folder)
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the working directory is not in a checkout of Locklab")
		}
	}
}

// builtIn is the class path of what was built in a folder. Classes that are older than their sources do not count.
func builtIn(folder string) (string, error) {
	target := filepath.Join(folder, "target")
	jar := filepath.Join(target, "articles-1.jar")
	built, err := os.Stat(jar)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("it is not built")
	}
	if err != nil {
		return "", err
	}
	sources, _ := filepath.Glob(filepath.Join(folder, "*.java"))
	for _, source := range append(sources, filepath.Join(folder, "pom.xml")) {
		if written, err := os.Stat(source); err == nil && written.ModTime().After(built.ModTime()) {
			return "", fmt.Errorf("%s has changed since it was built", filepath.Base(source))
		}
	}
	return jar + string(os.PathListSeparator) + filepath.Join(target, "lib", "*"), nil
}
