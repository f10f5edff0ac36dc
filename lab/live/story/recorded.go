package story

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"locklab/lab"
)

// recorded has a saved run of each scene, by the id of its experiment. `go run ./tools/site --record` writes them.
//
//go:embed recorded
var recorded embed.FS

// Recorded is a saved run of the scene, judged now: for a machine on which it cannot run, and for the site of static files.
func (s Scene) Recorded(c lab.Catalogue) (lab.Saved, error) {
	e, err := s.In(c)
	if err != nil {
		return lab.Saved{}, err
	}
	files, err := fs.Sub(recorded, path.Join("recorded", e.ID))
	if err != nil {
		return lab.Saved{}, err
	}
	temporary, err := os.MkdirTemp("", "locklab-story-")
	if err != nil {
		return lab.Saved{}, err
	}
	defer func() { _ = os.RemoveAll(temporary) }() // the system empties the folder for temporary files
	dir := filepath.Join(temporary, e.ID)
	if err := os.CopyFS(dir, files); err != nil {
		return lab.Saved{}, fmt.Errorf("the recorded run of %s: %w", e.ID, err)
	}
	return lab.Catalogue{e}.Rejudge(dir), nil
}
