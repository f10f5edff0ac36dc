package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const howToGetImages = "run deploy/offline/build, or deploy/offline/usb load FILE"

// images checks that all are there or that their registry answers. That it answers this program does
// not guarantee that it answers the engine, which has its own proxy, nor that it has the image.
func (m machine) images(ctx context.Context) []Result {
	missing, err := m.missing(ctx)
	if err != nil {
		return problem("not known: "+said(err), seeDocker)
	}
	if len(missing) == 0 {
		return ok(fmt.Sprintf("all %d are here, or can be built", len(m.lab.Images)))
	}
	found := fmt.Sprintf("%d of %d are missing (%s)", len(missing), len(m.lab.Images), strings.Join(names(missing), ", "))
	for _, host := range registries(missing) {
		if err := reach(ctx, "https://"+host+"/v2/"); err != nil {
			return problem(found+", and "+host+" cannot be reached: "+said(err), howToGetImages)
		}
	}
	return ok(found + "; " + strings.Join(registries(missing), ", ") + " answers. Before the class: docker compose --profile load pull --ignore-buildable; docker compose build")
}

// missing are the images that the engine does not have.
func (m machine) missing(ctx context.Context) ([]Image, error) {
	gone := make([]bool, len(m.lab.Images))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(4)
	for i, image := range m.lab.Images {
		all.Go(func() error {
			got, err := m.run(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", image.Name)
			if gone[i] = err != nil && noSuchImage.MatchString(got.err); gone[i] {
				return nil
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	var missing []Image
	for i, image := range m.lab.Images {
		if gone[i] && !m.canBuild(ctx, image) {
			missing = append(missing, image)
		}
	}
	return missing, nil
}

// canBuild reports whether what the image is built from is here. Whether the Go modules are, or can
// be reached, is not looked at.
func (m machine) canBuild(ctx context.Context, image Image) bool {
	if image.From == "" {
		return false
	}
	_, err := m.run(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", image.From)
	return err == nil
}

var noSuchImage = regexp.MustCompile(`(?i)no such image`)

func names(images []Image) []string {
	var all []string
	for _, image := range images {
		all = append(all, image.Name)
	}
	return all
}

// dockerHub is the registry of images that name none; what is built here is built from its images.
const dockerHub = "registry-1.docker.io"

// registries are the hosts that the images come from, each once.
func registries(images []Image) []string {
	var hosts []string
	for _, image := range images {
		host, _, slash := strings.Cut(image.Name, "/")
		named := slash && !image.Built && (strings.ContainsAny(host, ".:") || host == "localhost")
		if !named || host == "docker.io" {
			host = dockerHub
		}
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// reach asks a registry whether it is one. "Who are you?" (401) is an answer, too.
func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Second, fmt.Errorf("%w: %s", errNoAnswer, noAnswer("it", 4*time.Second)))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return cmp.Or(context.Cause(ctx), errors.Unwrap(err), err) // without the method and the address
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusUnauthorized {
		return errors.New(answer.Status)
	}
	return nil
}
