package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goversion "go/version"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	seeDocker       = "see the line docker"
	howToGetDocker  = "install Docker: https://docs.docker.com/get-started/get-docker/"
	oldestCompose   = "2.24.6" // the oldest with which the lab was started
	howToGetCompose = "install Docker's plugin Compose " + oldestCompose + " or newer: https://docs.docker.com/compose/install/"
	howToGetImages  = "run make images (as root, where debootstrap is missing: apt-get install debootstrap), or deploy/offline/usb load FILE"
	howToPull       = "Before the workshop: docker compose --profile load pull --ignore-buildable; " +
		"docker compose build; docker compose --profile load build"
	dockerHub = "https://registry-1.docker.io/v2/" // all images of the lab come from there
)

// info is what `docker info` prints. The client prints its part also when the engine does not answer.
type info struct {
	ServerVersion, OSType string
	ServerErrors          []string
	MemTotal              uint64
	ClientInfo            struct {
		Version string
		Plugins []struct{ Name, Version string }
	}
}

func (m machine) info(ctx context.Context) (info, error) {
	var is info
	out, err := m.run(ctx, "docker", "info", "--format", "{{json .}}")
	_ = json.Unmarshal([]byte(out), &is)
	if err == nil && is.ServerVersion == "" {
		const none = "docker names no engine; Podman and others are not supported"
		err = errors.New(cmp.Or(strings.Join(is.ServerErrors, "; "), none))
	}
	return is, err
}

// docker checks the client, the engine, and that they understand each other.
func (m machine) docker(ctx context.Context) []Result {
	is, err := m.info(ctx)
	if err != nil {
		return problem(err.Error(), afterFailure(err))
	}
	found := fmt.Sprintf("engine %s, client %s", is.ServerVersion, cmp.Or(is.ClientInfo.Version, "unknown"))
	if is.OSType == "windows" {
		return problem(found+"; it runs Windows containers", "switch Docker Desktop to Linux containers, in its menu")
	}
	return newEnough(found, is.ServerVersion, "20.10", "update Docker")
}

var otherVersion = regexp.MustCompile(`client version \S+ is too \w+\. \w+ supported API version is ([\d.]+)`)

// afterFailure says what to do when the engine did not answer.
func afterFailure(err error) string {
	version := otherVersion.FindStringSubmatch(err.Error())
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return howToGetDocker
	case errors.Is(err, errNoAnswer):
		return "restart Docker; DOCKER_HOST and `docker context ls` say which engine is asked"
	case version != nil:
		return "update Docker; or in each terminal: export DOCKER_API_VERSION=" + version[1]
	case strings.Contains(err.Error(), "permission denied"):
		return "sudo usermod -aG docker $USER, then log out and in again"
	}
	return "start Docker Desktop, or: sudo systemctl start docker"
}

// compose checks Docker's plugin. The old program docker-compose cannot read our files.
func (m machine) compose(ctx context.Context) []Result {
	is, err := m.info(ctx)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, errNoAnswer) {
		return problem("not known: "+err.Error(), afterFailure(err))
	}
	for _, plugin := range is.ClientInfo.Plugins {
		if plugin.Name == "compose" {
			return newEnough(strings.TrimPrefix(plugin.Version, "v"), plugin.Version, oldestCompose, howToGetCompose)
		}
	}
	return problem("docker has no plugin compose", howToGetCompose)
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`)

// newEnough compares the version in text with the oldest one that works: in numbers, as Go's are. A build without a version number passes.
func newEnough(found, text, oldest, howToGet string) []Result {
	version := versionNumber.FindString(text)
	if version == "" {
		return ok(fmt.Sprintf("%s; the version %q is not known, and taken as new enough (%s)", found, text, oldest))
	}
	if goversion.Compare("go"+version, "go"+oldest) < 0 {
		return problem(fmt.Sprintf("%s; it must be %s or newer", found, oldest), howToGet)
	}
	return ok(found)
}

// images checks that all images are here, or have a registry that answers. The engine has a proxy of its own, so a registry that answers
// this program may still not answer the engine. Whether a build can download its Go modules is not checked.
func (m machine) images(ctx context.Context) []Result {
	out, err := m.run(ctx, "docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return problem("not known: "+err.Error(), seeDocker)
	}
	here := strings.Fields(out)
	missing := slices.DeleteFunc(slices.Clone(m.lab.Images), func(image string) bool { return slices.Contains(here, image) })
	if len(missing) == 0 {
		return ok(fmt.Sprintf("all %d are here", len(m.lab.Images)))
	}
	found := fmt.Sprintf("%d of %d are missing (%s)", len(missing), len(m.lab.Images), strings.Join(missing, ", "))
	if err := reach(ctx, m.registry); err != nil {
		return problem(fmt.Sprintf("%s, and their registry cannot be reached: %s", found, err), howToGetImages)
	}
	return ok(found + "; their registry answers. " + howToPull)
}

// reach returns an error when there is no registry at url. A registry that wants to know the user (401) is there.
func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusUnauthorized {
		return errors.New(answer.Status)
	}
	return nil
}
