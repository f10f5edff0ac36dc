package story

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"locklab/lab"
)

// recorded has saved runs, by the id of their experiment: for machines that lack a server. Each is a copy of run.json and history.jsonl in
// store/ID/latest.
//
//go:embed recorded
var recorded embed.FS

// Recorded is a saved run of the scene, for a machine on which it cannot run: the variants of the scene, judged now. It reports false for
// a scene without one, which needs no server.
func (s Scene) Recorded(c lab.Catalogue) (run lab.Saved, is bool) {
	e, err := s.In(c)
	if err != nil {
		return run, false
	}
	files, err := fs.Sub(recorded, path.Join("recorded", e.ID))
	if err != nil {
		return run, false
	}
	temporary, err := os.MkdirTemp("", "locklab-story-")
	if err != nil {
		return run, false
	}
	defer func() { _ = os.RemoveAll(temporary) }() // the system empties the folder for temporary files
	dir := filepath.Join(temporary, e.ID)
	if err := os.CopyFS(dir, files); err != nil {
		return run, false
	}
	run = c.Rejudge(dir)
	var variants []lab.VariantJudgement
	for _, v := range e.Variants {
		if at := slices.IndexFunc(run.Judgement.Variants, func(j lab.VariantJudgement) bool { return j.Name == v.Name }); at >= 0 {
			variants = append(variants, run.Judgement.Variants[at])
		}
	}
	run.Judgement.Variants = variants
	return run, len(variants) == len(e.Variants)
}
