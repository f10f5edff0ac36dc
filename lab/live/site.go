package live

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"locklab/lab"
	"locklab/lab/live/steps"
	"locklab/lab/live/story"
)

// SiteTab leads to a part of the static site, whose path ends in a slash.
type SiteTab struct{ Text, Path string }

// SiteTabs are on each page of the static site.
var SiteTabs = []SiteTab{
	{"The story", "story/1/"}, {"Step by step", "steps/"}, {"Experiments", "experiments/"}, {"Documentation", "docs/"},
}

func siteTabs() (all []link) {
	for _, tab := range SiteTabs {
		all = append(all, link{"/ui/" + strings.TrimSuffix(tab.Path, "/"), tab.Text})
	}
	return all
}

// WriteStory writes the scenes of the story into a folder of static files, with recorded runs, and the style and the script of its pages.
// Each guess has a page of its own, so the pages need no script: story/4/index.html asks, and story/4/b/index.html answers whoever has
// chosen (b).
func WriteStory(dir string, c lab.Catalogue) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := New(ctx, Config{Catalogue: c, Static: true})
	if err != nil {
		return err
	}
	for i, of := range story.Scenes {
		q, at := s.scene(i), fmt.Sprintf("story/%d", i+1)
		err = errors.Join(err, s.writePage(dir, at, q.page(q.view(viewer{}, nil))))
		for guess := range of.Choices {
			s.questions.Guess(q.question, viewer{}.ID, strconv.Itoa(guess))
			err = errors.Join(err, q.showRecorded(), s.writePage(dir, at+"/"+letter(guess), q.page(q.view(viewer{}, nil))), q.again(nil))
		}
	}
	for i := range story.Scenes {
		err = errors.Join(err, s.scene(i).showRecorded())
	}
	return errors.Join(err, s.writePage(dir, "story", s.endOfStory(viewer{})), writeFile(dir, "static/style.css", []byte(styleOfPages())),
		writeFile(dir, "static/script.js", []byte(scriptOfPages())))
}

// showRecorded ends the guesses, and shows the recorded run of a scene. It returns why there is none.
func (q *quiz) showRecorded() error {
	if err := q.begin(); err != nil {
		return err
	}
	return q.failed
}

// WriteSteps writes the locks that can be played into a folder of static files: a list, and a page for each lock. Its script is
// static/play.js, which the caller writes.
func WriteSteps(dir string, c lab.Catalogue) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := New(ctx, Config{Catalogue: c, Static: true})
	if err != nil {
		return err
	}
	failed := s.writePage(dir, "steps", playsPage(c))
	for _, e := range playable(c) {
		all := locksOf(e)
		for _, l := range all {
			begun, err := begins(l)
			p := playPageOf(l, all)
			p.Texts = map[string]template.HTML{l.Key(): begun}
			failed = errors.Join(failed, err, s.writePage(dir, fmt.Sprintf("steps/%s/%d", lab.Number(l.ID), l.Number), p))
		}
	}
	return failed
}

// begins is the play of a lock before it can be played.
func begins(l steps.Lock) (begun template.HTML, err error) {
	games := &steps.Games{Changed: func(g *steps.Game) {
		v := steps.View{Game: g, Loading: true, Why: "The lab is loading."}
		begun = markup(func(w io.Writer) error { return steps.Show(w, v) })
	}}
	defer games.Close()
	err = games.Open(l)
	return begun, err
}

// writePage writes a page as at/index.html.
func (s *Server) writePage(dir, at string, p page) error {
	p.At = "/ui/" + at
	text, err := s.html(p, viewer{})
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return writeFile(dir, at+"/index.html", relative(text, at))
}

func writeFile(dir, name string, text []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

var uiLink = regexp.MustCompile(`(href|src)="/ui/([^"]*)"`)

// relative makes the links of a page relative, because a site may be served below any path. A link to a page becomes one to its folder.
func relative(text []byte, at string) []byte {
	root := strings.Repeat("../", strings.Count(at, "/")+1)
	return uiLink.ReplaceAllFunc(text, func(link []byte) []byte {
		of := uiLink.FindSubmatch(link)
		to := string(of[2])
		if to != "" && !strings.Contains(filepath.Base(to), ".") {
			to += "/"
		}
		return fmt.Appendf(nil, `%s="%s%s"`, of[1], root, to)
	})
}
