package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	contents    = "docs/README.md" // its groups of links are the menu
	experiments = "docs/experiments/README.md"
	start       = "README.md" // "Get started"
)

// A page is a Markdown file. Its source is its path in the repository, and its URL is a path in the site.
type page struct {
	source, url, title, body string
}

// A book is every page that is reachable from docs/README.md by links.
type book struct {
	root     string
	pages    map[string]*page  // by source
	pictures map[string]string // URLs by path in the repository
	others   []string          // paths of source files and folders with a link to them
}

// A link leads to a path in the site.
type link struct{ Text, URL string }

type group struct {
	Name  string
	Links []link
}

var (
	inlineLink = regexp.MustCompile(`\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)`)
	picture    = regexp.MustCompile(`\.(svg|png|jpg|gif|webp)$`)
	groupStart = regexp.MustCompile(`^(?:\*\*(.+)\.\*\*|## (.+))`)
	experiment = regexp.MustCompile(`^docs/experiments/([A-Z]+\d+)-.*\.md$`)
)

func readBook(root string) (*book, error) {
	b := &book{root: root, pages: map[string]*page{}, pictures: map[string]string{}}
	queue := []string{contents}
	seen := map[string]bool{contents: true}
	for ; len(queue) > 0; queue = queue[1:] {
		p, err := readPage(root, queue[0])
		if err != nil {
			return nil, err
		}
		b.pages[p.source] = p
		for _, found := range inlineLink.FindAllStringSubmatch(p.body, -1) {
			target := b.resolve(p.source, found[2])
			if target == "" || seen[target] {
				continue
			}
			seen[target] = true
			switch {
			case strings.HasSuffix(target, ".md"):
				queue = append(queue, target)
			case picture.MatchString(target):
				b.pictures[target] = urlOf(target)
			default:
				b.others = append(b.others, target)
			}
		}
	}
	return b, nil
}

// resolve returns the path in the repository that a link of a page leads to, or "" if there is none. A folder stands for its README.
func (b *book) resolve(source, destination string) string {
	destination, _, _ = strings.Cut(destination, "#")
	if destination == "" || strings.Contains(destination, ":") {
		return ""
	}
	target := path.Join(path.Dir(source), destination)
	for _, candidate := range []string{path.Join(target, "README.md"), target} {
		if _, err := os.Stat(filepath.Join(b.root, candidate)); err == nil {
			return candidate
		}
	}
	return ""
}

func readPage(root, source string) (*page, error) {
	text, err := os.ReadFile(filepath.Join(root, source))
	if err != nil {
		return nil, err
	}
	heading, body, _ := strings.Cut(string(text), "\n")
	title, ok := strings.CutPrefix(heading, "# ")
	if !ok {
		return nil, errors.New(source + " does not begin with a heading of level 1")
	}
	if source == start {
		title = "Get started" // its heading is the name of all
	}
	return &page{source, urlOf(source), title, body}, nil
}

// urlOf returns where a page or a picture is in the site. A page is a folder.
func urlOf(source string) string {
	if source == start {
		return "docs/start/"
	}
	if found := experiment.FindStringSubmatch(source); found != nil {
		return "experiments/" + found[1] + "/"
	}
	at, inDocs := strings.CutPrefix(source, "docs/")
	if !inDocs {
		at = strings.ToLower(source)
	}
	if !strings.HasPrefix(at, "experiments/") {
		at = "docs/" + at
	}
	if picture.MatchString(at) {
		return at
	}
	folder, name := path.Split(at)
	if strings.EqualFold(name, "readme.md") {
		return folder
	}
	return folder + strings.TrimSuffix(name, ".md") + "/"
}

// groups returns the links to pages on a page, by the bold words or the heading that they follow.
func (b *book) groups(source string) ([]group, error) {
	p := b.pages[source]
	if p == nil {
		return nil, fmt.Errorf("%s is not reachable from %s", source, contents)
	}
	var all []group
	seen := map[string]bool{}
	for line := range strings.Lines(p.body) {
		if start := groupStart.FindStringSubmatch(line); start != nil {
			all = append(all, group{Name: start[1] + start[2]})
		}
		for _, found := range inlineLink.FindAllStringSubmatch(line, -1) {
			target := b.pages[b.resolve(source, found[2])]
			if target == nil || len(all) == 0 || seen[target.url] {
				continue
			}
			seen[target.url] = true
			text := found[1]
			if experiment.MatchString(target.source) {
				text = target.title // the text is the name of the file
			}
			last := &all[len(all)-1]
			last.Links = append(last.Links, link{text, target.url})
		}
	}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.Links) == 0 }), nil
}
