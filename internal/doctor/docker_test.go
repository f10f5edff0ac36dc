package doctor

import "testing"

func TestComposeMustBeNewEnough(t *testing.T) {
	for text, ok := range map[string]bool{"2.24.0": true, "v2.39.1-desktop.1": true, "5.0.1": true, "dev": true, "2.23.3": false, "1.29.2": false} {
		m := answering(Lab{}, map[string]printed{"docker compose": {out: text}})
		want(t, m.compose(t.Context()), ok)
	}
	m := answering(Lab{}, map[string]printed{"docker compose": {out: "dev"}})
	want(t, m.compose(t.Context()), true, `"dev"`, "not known")
}

func TestDockerIsSaidToBeMissing(t *testing.T) {
	m := answering(Lab{}, nil)
	want(t, m.docker(t.Context()), false, "docker is not on the PATH →", "install Docker")
	want(t, m.compose(t.Context()), false, "install Docker")
}

func TestTheEngineMustBeNewEnoughAndRunLinux(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"Client":{"Version":"28.2.2"},"Server":{"Version":"20.10.24+dfsg1","Os":"linux"}}`: true,
		`{"Client":{"Version":"28.2.2"},"Server":{"Version":"29.0.0","Os":"linux"}}`:         true,
		`{"Client":{"Version":"19.3.1"},"Server":{"Version":"19.03.1","Os":"linux"}}`:        false,
		`{"Client":{"Version":"28.2.2"},"Server":{"Version":"28.2.2","Os":"windows"}}`:       false,
		`{"Client":{"Version":"28.2.2"},"Server":null}`:                                      false,

		`podman says something else`: false,
	} {
		m := answering(Lab{}, map[string]printed{"docker version": {out: text}})
		want(t, m.docker(t.Context()), ok)
	}
}

func TestWhatHelpsDependsOnWhatDockerSays(t *testing.T) {
	t.Setenv("DOCKER_API_VERSION", "")
	for text, help := range map[string]string{
		"Error response from daemon: client version 1.50 is too new. Maximum supported API version is 1.41":                         "1.41",
		"Error response from daemon: client version 1.41 is too old. Minimum supported API version is 1.44, please upgrade":         "update the docker client",
		"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock":                      "usermod",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":                         "start",
		"error during connect: open //./pipe/docker_engine: The system cannot find the file specified.":                             "start",
		"Warning: something else\nCannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running": "start",
	} {
		m := answering(Lab{}, map[string]printed{"docker version": {err: text}})
		want(t, m.docker(t.Context()), false, help)
	}
	t.Setenv("DOCKER_API_VERSION", "1.41")
	m := answering(Lab{}, map[string]printed{"docker version": {err: "client version 1.41 is too old. Minimum supported API version is 1.44"}})
	want(t, m.docker(t.Context()), false, "take the variable DOCKER_API_VERSION away")
}

func TestBuildxIsNeededToBuildOnly(t *testing.T) {
	lab := Lab{Images: []Image{{Name: "locklab:dev", Built: true}, {Name: "redis:7"}}}
	gone := printed{err: "Error response from daemon: No such image: it"}
	built := answering(lab, map[string]printed{"docker image inspect --format {{.Id}} locklab": {out: "sha256:1"}, "docker image inspect --format {{.Id}} redis": gone})
	want(t, built.buildx(t.Context()), true, "not needed")
	missing := answering(lab, map[string]printed{"docker image": gone, "docker buildx": {err: "docker: 'buildx' is not a docker command."}})
	want(t, missing.buildx(t.Context()), false, "locklab:dev", "deploy/offline/build")
	there := answering(lab, map[string]printed{"docker image": gone, "docker buildx": {out: "github.com/docker/buildx v0.31.1"}})
	want(t, there.buildx(t.Context()), true, "0.31.1")
}
