package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// infoOf is what `docker info` prints of an engine that answers.
func infoOf(engine, system, plugins string) map[string]string {
	const format = `{"ServerVersion":%q,"OSType":%q,"ClientInfo":{"Version":"28.2.2","Plugins":[%s]}}`
	return map[string]string{"docker info": fmt.Sprintf(format, engine, system, plugins)}
}

func TestDockerAndComposeMustBeNewEnough(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.24.6": true, "v2.39.1-desktop.1": true, "5.0.1": true, "dev": true, "2.24.5": false, "1.29.2": false,
	} {
		plugins := fmt.Sprintf(`{"Name":"buildx","Version":"0.1"},{"Name":"compose","Version":%q}`, version)
		want(t, answering(Lab{}, infoOf("28.2.2", "linux", plugins)).compose(t.Context()), ok)
	}
	// The client names its plugins also when the engine does not answer.
	want(t, answering(Lab{}, infoOf("", "", `{"Name":"compose","Version":"2.39.1"}`)).compose(t.Context()), true, "2.39.1")
	for engine, ok := range map[string]bool{
		"20.10.24+dfsg1 linux": true, "29.0.0 linux": true, "19.03.1 linux": false, "28.2.2 windows": false, " ": false,
	} {
		version, system, _ := strings.Cut(engine, " ")
		want(t, answering(Lab{}, infoOf(version, system, "")).docker(t.Context()), ok)
	}
}

func TestMissingProgramsAreNamed(t *testing.T) {
	m := answering(Lab{}, nil)
	want(t, m.docker(t.Context()), false, "docker is not on the PATH", "install Docker")
	want(t, m.compose(t.Context()), false, "install Docker")
	want(t, answering(Lab{}, infoOf("28.2.2", "linux", "")).compose(t.Context()), false, "no plugin compose", "docs.docker.com/compose")
}

func TestAdviceDependsOnTheErrorOfDocker(t *testing.T) {
	for text, advice := range map[string]string{
		"client version 1.50 is too new. Maximum supported API version is 1.41":                                "DOCKER_API_VERSION=1.41",
		"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock": "usermod",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":    "start Docker",
	} {
		// An engine that does not answer is an exit status in some versions of docker, and only a message in others.
		want(t, answering(Lab{}, map[string]string{"docker info": "Error " + text}).docker(t.Context()), false, text, advice)
		said := fmt.Sprintf(`{"ServerErrors":[%q]}`, text)
		want(t, answering(Lab{}, map[string]string{"docker info": said}).docker(t.Context()), false, text, advice)
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
	lab := Lab{Images: []string{"redis:7", "mysql:8"}}
	for _, c := range []struct {
		here, registry string
		ok             bool
		words          string
	}{
		{"redis:7\nmysql:8", "", true, "all 2 are here"},
		{"mysql:8", registry(t, http.StatusOK), true, "1 of 2 are missing (redis:7); their registry answers"},
		{"mysql:8", registry(t, http.StatusUnauthorized), true, "pull"},             // it asks for the user
		{"mysql:8", registry(t, http.StatusForbidden), false, "403"},                // a portal of a hotel, or a proxy
		{"", "http://127.0.0.1:1/", false, "2 of 2 are missing (redis:7, mysql:8)"}, // nothing listens there
	} {
		m := answering(lab, map[string]string{"docker image ls": c.here})
		m.registry = c.registry
		want(t, m.images(t.Context()), c.ok, c.words)
	}
	m := answering(lab, map[string]string{"docker image ls": "Error Cannot connect to the Docker daemon"})
	want(t, m.images(t.Context()), false, "not known", "see the line docker")
}
