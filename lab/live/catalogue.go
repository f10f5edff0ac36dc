package live

import (
	_ "embed"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"time"

	"locklab/lab"
)

// article is one that the lab reproduces.
type article struct{ ID, About string }

// articles are all of them.
var articles = []article{
	{"A0", "Korean: a limit of calls"},
	{"A1", "Korean: Redisson"},
	{"A2", "Japanese: drivers grab an order"},
	{"A3", "Chinese: Redis as lock and cache"},
	{"A4", "Russian: page views"},
}

// group is a part of the list of experiments.
type group struct {
	Title string
	Cards []entry
	Shown bool // the filter keeps some of them
}

// entry is an experiment in the list.
type entry struct {
	lab.Experiment
	Hidden bool          // by the filter
	Newest template.HTML // the verdict of its newest saved run; empty: there is none, or it must not be told yet
}

// experiments lists all experiments. Those that the filter does not keep are hidden, so that the script of the page can show them.
func (s *Server) experiments(r *http.Request) (page, error) {
	f := lab.Filter{
		Text: r.FormValue("text"), Article: r.FormValue("article"), Level: r.FormValue("level"), Anomaly: r.FormValue("anomaly"),
		Quick: r.FormValue("quick") != "",
	}
	kept := make(map[string]bool)
	for _, e := range f.Of(s.cfg.Catalogue) {
		kept[e.ID] = true
	}
	var subjects []group
	for _, e := range s.cfg.Catalogue {
		if title := s.cfg.subjectOf(e); len(subjects) == 0 || subjects[len(subjects)-1].Title != title {
			subjects = append(subjects, group{Title: title})
		}
		of := &subjects[len(subjects)-1]
		of.Cards, of.Shown = append(of.Cards, entry{e, !kept[e.ID], s.newestVerdict(r, e)}), of.Shown || kept[e.ID]
	}
	return page{Name: "experiments", Title: "Experiments", Body: map[string]any{
		"Filter": f, "Subjects": subjects, "Shown": len(kept), "All": len(s.cfg.Catalogue), "Articles": articles,
		"Levels": lab.Levels, "Anomalies": s.cfg.Catalogue.Anomalies(),
	}}, nil
}

// subjectOf is the title above the experiments of a group.
func (c Config) subjectOf(e lab.Experiment) string {
	_, title, grouped := strings.Cut(c.Subject(e.ID), " · ")
	if !grouped {
		return "Others"
	}
	return strings.ToUpper(title[:1]) + title[1:]
}

// takes is a duration as people read it: 1 min 45 s.
func takes(d time.Duration) string {
	return strings.TrimSuffix(strings.NewReplacer("m", " min ", "s", " s").Replace(d.String()), " 0 s")
}

var oneSentence = regexp.MustCompile(`[^.?!]+(?:[.?!][^\s]+[^.?!]*)*[.?!]`)

// asking is a text with a question: what it asks, and before that about what.
type asking struct{ Setting, Question string }

// firstQuestion parts a text at its first sentence that is a question. What follows is left out.
func firstQuestion(text string) asking {
	for _, at := range oneSentence.FindAllStringIndex(text, -1) {
		if one := text[at[0]:at[1]]; strings.HasSuffix(one, "?") {
			return asking{strings.TrimSpace(text[:at[0]]), strings.TrimSpace(one)}
		}
	}
	return asking{Question: text}
}

//go:embed static/experiments.js
var experimentsScript string
