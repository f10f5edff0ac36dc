package claims

import (
	"regexp"
	"testing"

	"locklab/lab/testenv"
)

// A statement that is in no article has a link to its source.
func TestWhatIsKnownFromElsewhereHasItsSource(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	link := regexp.MustCompile(`https://[a-z.]+/\S+`)
	for _, e := range All() {
		if e.Elsewhere != "" && !link.MatchString(e.Elsewhere) {
			t.Errorf("%s: no source: %s", e.ID, e.Elsewhere)
		}
	}
}

// A lesson sends nobody to containers in which its experiment cannot run.
func TestLessonsNameContainersWhereTheyCanRun(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	command := regexp.MustCompile("`app lab run ([A-Z0-9]+) --on docker`")
	for _, e := range All() {
		for _, named := range command.FindAllStringSubmatch(e.Next, -1) {
			if other, err := All().Find(named[1]); err != nil || other.Docker == 0 {
				t.Errorf("%s: %s cannot run in containers: %v", e.ID, named[1], err)
			}
		}
	}
}
