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
	howToGetBuildx  = "install Docker's plugin buildx: https://docs.docker.com/build/install-buildx/; or deploy/offline/usb load FILE"
	howToGetImages  = "run make images, or deploy/offline/usb load FILE"
	howToBootstrap  = "as root: apt-get install debootstrap, then make images; or deploy/offline/usb load FILE"
	howToPull       = "Before the workshop: docker compose --profile load pull --ignore-buildable; " +
		"docker compose build; docker compose --profile load build"
	dockerHub = "https://registry-1.docker.io/v2/" // all images of the lab come from there
	baseImage = "debian:bookworm-slim"             // of those that `make images` builds
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
	got, err := m.run(ctx, "docker", "info", "--format", "{{json .}}")
	_ = json.Unmarshal([]byte(got.out), &is)
	if err == nil && is.ServerVersion == "" {
		const none = "docker names no engine; Podman and others are not supported"
		err = errors.New(cmp.Or(lastLine(got.err), strings.Join(is.ServerErrors, "; "), none))
	}
	return is, err
}

// plugin returns the version of a plugin of the client.
func (i info) plugin(name string) (version string, found bool) {
	for _, plugin := range i.ClientInfo.Plugins {
		if plugin.Name == name {
			return plugin.Version, true
		}
	}
	return "", false
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
	switch version, found := is.plugin("compose"); {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, errNoAnswer):
		return problem("not known: "+err.Error(), afterFailure(err))
	case !found:
		return problem("docker has no plugin compose", howToGetCompose)
	default:
		return newEnough(strings.TrimPrefix(version, "v"), version, oldestCompose, howToGetCompose)
	}
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

// images checks that all images are here, can be built, or have a registry that answers. The engine has a proxy of its own, so a registry
// that answers this program may still not answer the engine. Whether a build can download its Go modules is not checked.
func (m machine) images(ctx context.Context) []Result {
	got, err := m.run(ctx, "docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return problem("not known: "+err.Error(), seeDocker)
	}
	is, _ := m.info(ctx)
	_, buildx := is.plugin("buildx")
	here := strings.Fields(got.out)
	var missing []string
	for _, image := range m.lab.Images {
		switch {
		case slices.Contains(here, image.Name):
		case image.Built && !buildx:
			return problem("no docker buildx, which builds "+image.Name, howToGetBuildx)
		case image.Built && slices.Contains(here, image.From):
		default:
			missing = append(missing, image.Name)
		}
	}
	if len(missing) == 0 {
		return ok(fmt.Sprintf("all %d are here, or can be built", len(m.lab.Images)))
	}
	found := fmt.Sprintf("%d of %d are missing (%s)", len(missing), len(m.lab.Images), strings.Join(missing, ", "))
	if err := reach(ctx, m.registry); err != nil {
		return problem(fmt.Sprintf("%s, and their registry cannot be reached: %s", found, err), m.withoutRegistry(ctx, here))
	}
	return ok(found + "; their registry answers. " + howToPull)
}

// withoutRegistry says how to get the images that are missing beside those that are here. `make images` makes its base image with
// debootstrap.
func (m machine) withoutRegistry(ctx context.Context, here []string) string {
	_, missing := m.run(ctx, "sh", "-c", "PATH=$PATH:/usr/sbin; command -v debootstrap") // a user's PATH lacks /usr/sbin
	if missing != nil && !slices.Contains(here, baseImage) {
		return howToBootstrap
	}
	return howToGetImages
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
