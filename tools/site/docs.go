package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/live"
	"locklab/lab/live/story"
)

// hugo is the newest that Go 1.26 builds.
const hugo = "github.com/gohugoio/hugo@v0.165.0"

//go:embed all:hugo
var hugoFiles embed.FS

// siteData is what the layouts know about the site.
type siteData struct {
	Tabs        []live.SiteTab
	Menus       map[string][]group // by the tab whose pages have the menu
	Targets     map[string]string  // what a link may lead to, by its path in the repository: a URL; empty for a source file
	Repository  string
	Experiments int
	Plays       map[string]bool // experiments whose locks can be played, by the first word of their name
	Drawing     string          // of a scene, for the home page
}

// writeDocs writes the home page, the documentation, the experiments, and what all pages share.
func writeDocs(ctx context.Context, o options) (err error) {
	b, err := readBook(o.root)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "site-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := b.prepare(work, o.repository); err != nil {
		return err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", hugo, "--source", work, "--destination", out)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(output, []byte("WARN")) {
		err = errors.New("it warns") // its flag for this, --panicOnWarning, hangs when a page fails
	}
	if err != nil {
		return fmt.Errorf("go run %s: %w\n%s", hugo, err, output)
	}
	return nil
}

// prepare makes the project of Hugo in a folder: the layouts, a page with front matter for each Markdown file, pictures, and data.
func (b *book) prepare(work, repository string) error {
	layouts, err := fs.Sub(hugoFiles, "hugo")
	if err != nil {
		return err
	}
	if err := os.CopyFS(work, layouts); err != nil {
		return err
	}
	data, err := b.data(repository)
	if err != nil {
		return err
	}
	if err := putJSON(filepath.Join(work, "data/site.json"), data); err != nil {
		return err
	}
	for source, url := range b.pictures {
		content, err := os.ReadFile(filepath.Join(b.root, source))
		if err != nil {
			return err
		}
		if err := put(filepath.Join(work, "static", url), content); err != nil {
			return err
		}
	}
	return b.putPages(filepath.Join(work, "content"), data.Menus)
}

func (b *book) data(repository string) (siteData, error) {
	d := siteData{Tabs: live.SiteTabs, Targets: map[string]string{}, Repository: repository, Menus: map[string][]group{}}
	for tab, source := range map[string]string{"docs": contents, "experiments": experiments} {
		groups, err := b.groups(source)
		if err != nil {
			return d, err
		}
		d.Menus[tab] = groups
	}
	d.Plays = map[string]bool{}
	for _, e := range claims.All() {
		if len(e.Interleavings) > 0 {
			d.Plays[lab.Number(e.ID)] = true
		}
	}
	drawing, err := drawScene(lateUnlock)
	if err != nil {
		return d, err
	}
	d.Drawing = drawing
	for _, g := range d.Menus["experiments"] {
		d.Experiments += len(g.Links)
	}
	for source, p := range b.pages {
		d.Targets[source] = p.url
	}
	for source, url := range b.pictures {
		d.Targets[source] = url
	}
	for _, source := range b.others {
		d.Targets[source] = ""
	}
	return d, nil
}

// lateUnlock is the scene on the home page: it is understood without a word of introduction.
const lateUnlock = 4

// drawScene returns the drawing of a scene's recorded run, in the variant that fails. Scenes count from 1.
func drawScene(number int) (string, error) {
	scene := story.Scenes[number-1]
	run, err := scene.Recorded(claims.All())
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = scene.Results(run)[0].Draw(&text, false)
	return text.String(), err
}

// putPages writes a page of Hugo for each Markdown file.
func (b *book) putPages(dir string, menus map[string][]group) error {
	for source, p := range b.pages {
		tab := "docs"
		if filepath.Dir(source) == filepath.Dir(experiments) {
			tab = "experiments"
		}
		front := map[string]any{"title": p.title, "url": "/" + p.url, "params": map[string]any{"source": source, "tab": tab}}
		if source == contents {
			front["layout"] = "contents"
		}
		for _, g := range menus[tab] {
			for i, l := range g.Links {
				if l.URL == p.url {
					front["weight"], front["params"].(map[string]any)["group"] = i+1, g.Name
				}
			}
		}
		head, err := json.MarshalIndent(front, "", "  ")
		if err != nil {
			return err
		}
		if err := put(filepath.Join(dir, source), append(append(head, '\n'), p.body...)); err != nil {
			return err
		}
	}
	return nil
}

func putJSON(file string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return put(file, content)
}

func put(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
