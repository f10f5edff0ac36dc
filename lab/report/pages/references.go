package pages

import (
	"regexp"
	"strings"

	"locklab/lab"
)

// references are the ids of all experiments, by their number.
type references map[string]string

func referencesTo(all []Result) references {
	ids := make(references)
	for _, r := range all {
		ids[lab.Number(r.Experiment.ID)] = r.Experiment.ID
	}
	return ids
}

// reference is a number, or a whole id, where a word begins. The character before tells a word from a part of an address or of a name.
var reference = regexp.MustCompile(`(^|[\s(,;/])([A-Z]\d{1,2})((?:-[a-z0-9]+)*)\b`)

// Linked makes links of the experiments that a text names, but of the page's own. Code, links and addresses stay as they are.
func (p page) Linked(text string) string {
	parts := protected.FindAllStringIndex(text, -1)
	var b strings.Builder
	from := 0
	for _, part := range append(parts, []int{len(text), len(text)}) {
		b.WriteString(p.linkedWords(text[from:part[0]]) + text[part[0]:part[1]])
		from = part[1]
	}
	return b.String()
}

// protected is what Markdown does not read as words.
var protected = regexp.MustCompile("`[^`]*`|\\[[^\\]]*\\]\\([^)]*\\)|https?://\\S+")

func (p page) linkedWords(text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		part := reference.FindStringSubmatch(found)
		id := p.links[part[2]]
		named := part[2] + part[3]
		if id == "" || id == p.Experiment.ID || part[3] != "" && named != id {
			return found
		}
		return part[1] + "[" + named + "](" + id + ".md)"
	})
}
