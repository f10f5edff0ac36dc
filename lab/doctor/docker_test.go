package doctor

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// infoOf is what `docker info` prints of an engine that answers.
func infoOf(engine, system, plugins string) map[string]printed {
	const format = `{"ServerVersion":%q,"OSType":%q,"ClientInfo":{"Version":"28.2.2","Plugins":[%s]}}`
	return map[string]printed{"docker info": {out: fmt.Sprintf(format, engine, system, plugins)}}
}

func TestComposeMustBeNewEnough(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.24.6": true, "2.29.0": true, "v2.39.1-desktop.1": true, "5.0.1": true, "dev": true, "2.24.5": false, "2.23.7": false, "1.29.2": false,
	} {
		plugins := fmt.Sprintf(`{"Name":"buildx","Version":"0.1"},{"Name":"compose","Version":%q}`, version)
		want(t, answering(Lab{}, infoOf("28.2.2", "linux", plugins)).compose(t.Context()), ok)
	}
	m := answering(Lab{}, infoOf("28.2.2", "linux", `{"Name":"compose","Version":"dev"}`))
	want(t, m.compose(t.Context()), true, `"dev"`, "not known")
}

func TestMissingProgramsAreNamed(t *testing.T) {
	m := answering(Lab{}, nil)
	want(t, m.docker(t.Context()), false, "docker is not on the PATH", "install Docker")
	want(t, m.compose(t.Context()), false, "install Docker")
	want(t, answering(Lab{}, infoOf("28.2.2", "linux", "")).compose(t.Context()), false, "no plugin compose", "docs.docker.com/compose")
}

// The client names its plugins also when the engine does not answer.
func TestComposeIsCheckedWithoutAnEngine(t *testing.T) {
	m := answering(Lab{}, infoOf("", "", `{"Name":"compose","Version":"2.39.1"}`))
	want(t, m.compose(t.Context()), true, "2.39.1")
}

func TestTheEngineMustBeNewEnoughAndRunLinux(t *testing.T) {
	for _, c := range []struct {
		engine, system string
		ok             bool
	}{
		{"20.10.24+dfsg1", "linux", true}, {"29.0.0", "linux", true}, {"19.03.1", "linux", false}, {"28.2.2", "windows", false}, {"", "", false},
	} {
		want(t, answering(Lab{}, infoOf(c.engine, c.system, "")).docker(t.Context()), c.ok)
	}
	podman := answering(Lab{}, map[string]printed{"docker info": {out: "podman says something else"}})
	want(t, podman.docker(t.Context()), false, "Podman")
}

func TestAdviceDependsOnTheErrorOfDocker(t *testing.T) {
	for text, advice := range map[string]string{
		"Error: client version 1.50 is too new. Maximum supported API version is 1.41":                         "DOCKER_API_VERSION=1.41",
		"Error: client version 1.41 is too old. Minimum supported API version is 1.44, so upgrade":             "DOCKER_API_VERSION=1.44",
		"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock": "usermod",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":    "start Docker",
		"error during connect: open //./pipe/docker_engine: The system cannot find the file specified.":        "start Docker",
		"Warning: something else\nCannot connect to the Docker daemon at unix:///var/run/docker.sock.":         "start Docker",
	} {
		// An engine that does not answer is an exit status in some versions of docker, and only a message in others.
		want(t, answering(Lab{}, map[string]printed{"docker info": {err: text}}).docker(t.Context()), false, lastLine(text), advice)
		said := map[string]printed{"docker info": {out: fmt.Sprintf(`{"ServerErrors":[%q]}`, text)}}
		want(t, answering(Lab{}, said).docker(t.Context()), false, lastLine(text), advice)
	}
}

// registry answers with the status.
func registry(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	return server.URL + "/v2/"
}

func TestMissingImagesNeedARegistry(t *testing.T) {
	lab := Lab{Images: []Image{{Name: "redis:7"}, {Name: "mysql:8"}}}
	for _, c := range []struct {
		here, registry string
		ok             bool
		words          string
	}{
		{"redis:7\nmysql:8", "", true, "all 2 are here, or can be built"},
		{"mysql:8", registry(t, http.StatusOK), true, "1 of 2 are missing (redis:7); their registry answers"},
		{"mysql:8", registry(t, http.StatusUnauthorized), true, "pull"},             // it asks for the user
		{"mysql:8", registry(t, http.StatusForbidden), false, "403"},                // a portal of a hotel, or a proxy
		{"mysql:7", "http://127.0.0.1:1/", false, "deploy/offline/usb load FILE"},   // nothing listens there
		{"", "http://127.0.0.1:1/", false, "2 of 2 are missing (redis:7, mysql:8)"}, // a fresh engine
	} {
		m := answering(lab, map[string]printed{"docker image ls": {out: c.here}})
		m.registry = c.registry
		want(t, m.images(t.Context()), c.ok, c.words)
	}
	m := answering(lab, map[string]printed{"docker image ls": {err: "Cannot connect to the Docker daemon"}})
	want(t, m.images(t.Context()), false, "not known", "see the line docker")
}

// debootstrap makes the base of all images, where no registry has them and nothing has made it yet.
func TestDebootstrapIsNeededWithoutARegistryOnly(t *testing.T) {
	installed := map[string]printed{"sh -c PATH=$PATH:/usr/sbin; command -v debootstrap": {out: "/usr/sbin/debootstrap"}}
	for _, c := range []struct {
		here, registry string
		programs       map[string]printed
		needed         bool
	}{
		{"", "http://127.0.0.1:1/", nil, true},
		{"", "http://127.0.0.1:1/", installed, false},
		{"debian:bookworm-slim", "http://127.0.0.1:1/", nil, false},
		{"", registry(t, http.StatusOK), nil, false},
		{"redis:7", "http://127.0.0.1:1/", nil, false},
	} {
		answers := map[string]printed{"docker image ls": {out: c.here}}
		maps.Copy(answers, c.programs)
		m := answering(Lab{Images: []Image{{Name: "redis:7"}}}, answers)
		m.registry = c.registry
		if got := m.images(t.Context())[0]; strings.Contains(got.Do, "install debootstrap") != c.needed {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestBuildxIsNeededToBuildOnly(t *testing.T) {
	lab := Lab{Images: []Image{{Name: "locklab:dev", Built: true, From: "golang:1"}}}
	images := func(here, plugins string) []Result {
		answers := infoOf("28.2.2", "linux", plugins)
		answers["docker image ls"] = printed{out: here}
		return answering(lab, answers).images(t.Context())
	}
	want(t, images("locklab:dev", ""), true, "all 1 are here")
	want(t, images("golang:1", `{"Name":"buildx","Version":"v0.31.1"}`), true, "can be built")
	want(t, images("golang:1", ""), false, "locklab:dev", "docs.docker.com/build/install-buildx", "deploy/offline/usb load FILE")
}
