package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// An htmlPage is what the links of a page and to it depend on.
type htmlPage struct {
	links   []string // of href and src
	loaded  []string // those that a browser follows by itself
	anchors map[string]bool
}

// checkLinks returns an error for each link and picture of a site that leads to nothing in it, and for each file that a browser would get
// from another host. A link to another host is not followed.
func checkLinks(dir string) error {
	pages := map[string]htmlPage{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".html" {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		pages[filepath.ToSlash(name)], err = readHTML(file)
		return err
	})
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		return fmt.Errorf("%s has no page", dir)
	}
	var problems []error
	for name, p := range pages {
		for _, link := range p.loaded {
			if strings.Contains(link, "//") {
				problems = append(problems, fmt.Errorf("%s: it loads %s from another host", name, link))
			}
		}
		for _, link := range p.links {
			if err := checkLink(dir, name, link, pages); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

func checkLink(dir, from, link string, pages map[string]htmlPage) error {
	to, err := url.Parse(link)
	if err != nil {
		return err
	}
	if to.Scheme != "" {
		return nil
	}
	if to.Host != "" || strings.HasPrefix(to.Path, "/") {
		return fmt.Errorf("the link %s depends on where the site is served", link)
	}
	target := from
	if to.Path != "" {
		target = path.Join(path.Dir(from), to.Path)
	}
	if strings.HasSuffix(to.Path, "/") || target == "." {
		target = path.Join(target, "index.html")
	}
	if info, err := os.Stat(filepath.Join(dir, target)); err != nil || info.IsDir() || strings.HasPrefix(target, "..") {
		return fmt.Errorf("the link %s leads to no file", link)
	}
	if page, ok := pages[target]; ok && to.Fragment != "" && !page.anchors[to.Fragment] {
		return fmt.Errorf("the link %s leads to no heading", link)
	}
	return nil
}

func readHTML(file string) (htmlPage, error) {
	p := htmlPage{anchors: map[string]bool{}}
	f, err := os.Open(file)
	if err != nil {
		return p, err
	}
	defer f.Close()
	root, err := html.Parse(f)
	if err != nil {
		return p, err
	}
	for node := range root.Descendants() {
		for _, a := range node.Attr {
			switch a.Key {
			case "href", "src":
				p.links = append(p.links, a.Val)
				if node.Data != "a" {
					p.loaded = append(p.loaded, a.Val)
				}
			case "id":
				p.anchors[a.Val] = true
			}
		}
	}
	return p, nil
}
