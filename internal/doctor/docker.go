package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// seeDocker is what to do where docker is at fault, of which its own line tells.
const seeDocker = "see the line docker"

const howToGetDocker = "install Docker: https://docs.docker.com/get-started/get-docker/"

// docker checks the client, the engine, and that the two speak to each other.
func (m machine) docker(ctx context.Context) []Result {
	got, err := m.run(ctx, "docker", "version", "--format", "{{json .}}")
	if err != nil {
		return problem(said(err), afterFailure(got, err))
	}
	var is struct {
		Client struct{ Version string }
		Server struct{ Version, Os string }
	}
	if json.Unmarshal([]byte(got.out), &is) != nil || is.Server.Version == "" {
		return problem("docker names no engine: "+cmp.Or(lastLine(got.err), lastLine(got.out)), "is it Docker? Podman and others are not supported; "+howToGetDocker)
	}
	found := fmt.Sprintf("engine %s, client %s", is.Server.Version, is.Client.Version)
	if is.Server.Os == "windows" {
		return problem(found+"; it runs Windows containers", "switch Docker Desktop to Linux containers, in its menu")
	}
	newEnough, known := atLeast(is.Server.Version, 20, 10)
	if known && !newEnough {
		return problem(found+"; the engine must be 20.10 or newer", "update Docker")
	}
	if !known {
		found += " (no version of a release: taken as new enough)"
	}
	return ok(found)
}

var (
	tooNew = regexp.MustCompile(`client version \S+ is too new\. Maximum supported API version is ([\d.]+)`)
	tooOld = regexp.MustCompile(`client version \S+ is too old\. Minimum supported API version is ([\d.]+)`)
)

// afterFailure says what helps when `docker version` failed.
func afterFailure(got printed, err error) string {
	text := got.err
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return howToGetDocker
	case errors.Is(err, errNoAnswer):
		return "restart Docker; DOCKER_HOST and `docker context ls` say which engine is asked"
	case tooNew.MatchString(text):
		return setVariable("DOCKER_API_VERSION", tooNew.FindStringSubmatch(text)[1]) + " (in each terminal), or update the engine"
	case tooOld.MatchString(text) && os.Getenv("DOCKER_API_VERSION") != "":
		return "take the variable DOCKER_API_VERSION away: it is " + os.Getenv("DOCKER_API_VERSION")
	case tooOld.MatchString(text):
		return "update the docker client: the engine is newer"
	case strings.Contains(text, "permission denied"):
		return "sudo usermod -aG docker $USER, then log out and in again"
	}
	return "start Docker Desktop, or: sudo systemctl start docker"
}

// setVariable is how a shell of this system sets one.
func setVariable(name, value string) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("$env:%s='%s' in PowerShell", name, value)
	}
	return fmt.Sprintf("export %s=%s", name, value)
}

const howToGetCompose = "install Docker's plugin Compose 2.24 or newer: https://docs.docker.com/compose/install/"

// compose checks the plugin, not the program docker-compose of old, which is of no use here.
func (m machine) compose(ctx context.Context) []Result {
	got, err := m.run(ctx, "docker", "compose", "version", "--short")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return problem("no docker, no compose", howToGetDocker)
	case errors.Is(err, errNoAnswer):
		return problem("not known: "+said(err), seeDocker)
	case err != nil:
		return problem("docker has no plugin compose", howToGetCompose)
	}
	newEnough, known := atLeast(got.out, 2, 24)
	switch {
	case !known:
		return ok(fmt.Sprintf("%q: built by somebody, its version is not known; taken as new enough (2.24)", got.out))
	case !newEnough:
		return problem(got.out+"; it must be 2.24 or newer", howToGetCompose)
	}
	return ok(strings.TrimPrefix(got.out, "v"))
}

// buildx checks the plugin that builds images, where one must be built.
func (m machine) buildx(ctx context.Context) []Result {
	var build []string
	missing, err := m.missing(ctx)
	for _, image := range missing {
		if image.Built {
			build = append(build, image.Name)
		}
	}
	if err == nil && len(build) == 0 {
		return ok("not needed: no image must be built")
	}
	if errors.Is(err, errNoAnswer) {
		return problem("not known: "+said(err), seeDocker)
	}
	got, failed := m.run(ctx, "docker", "buildx", "version")
	if failed == nil {
		return ok(cmp.Or(version(got.out), got.out))
	}
	if err != nil {
		return problem("no docker buildx, and docker does not say which images must be built", seeDocker)
	}
	return problem("no docker buildx, which builds "+strings.Join(build, ", "),
		"install Docker's plugin buildx: https://docs.docker.com/build/install-buildx/; or deploy/offline/build, or deploy/offline/usb load FILE")
}
