package claims

import (
	"regexp"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

// A claim is one sentence, short enough for a row of a table. The page puts the articles' ids before what they say.
func TestClaimsAreOneSentence(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	begin := regexp.MustCompile(`^A[0-4](, A[0-4]| and A[0-4])*:`)
	for _, e := range All() {
		if strings.Contains(e.Claim, ". ") || !strings.HasSuffix(e.Claim, ".") || len(strings.Fields(e.Claim)) > 25 {
			t.Errorf("%s claims more than one sentence of 25 words: %s", e.ID, e.Claim)
		}
		if begin.MatchString(e.Says) {
			t.Errorf("%s: the page would name the article twice: %s", e.ID, e.Says)
		}
	}
}

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
		if e.Docker > 0 && e.Next != "" && !command.MatchString(e.Next) {
			t.Errorf("%s can run in containers, and its lesson does not say so: %s", e.ID, e.Next)
		}
	}
}
