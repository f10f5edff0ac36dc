package machine

import (
	"context"
	"fmt"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"

	"locklab/lab/servers/compose"
)

// Images are those of the services of compose that run, with the backends, and that takes accepts, each once. An error names the first that
// this machine's Docker has not.
func Images(ctx context.Context, takes func(types.ServiceConfig) bool) (images []string, err error) {
	project, err := compose.Load(ctx, ".", "", "BACKENDS=1")
	if err != nil {
		return nil, err
	}
	for _, service := range project.Files.Services {
		if takes(service) && service.GetScale() > 0 {
			images = append(images, service.Image)
		}
	}
	slices.Sort(images)
	images = slices.Compact(images)
	for _, image := range images {
		if _, err := Output(ctx, nil, "docker", "image", "inspect", "--format", "{{.Id}}", image); err != nil {
			return nil, fmt.Errorf("%w\n`deploy/offline/build` makes the images of the lab", err)
		}
	}
	return images, nil
}
