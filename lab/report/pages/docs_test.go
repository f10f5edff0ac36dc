package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/lab/claims"
	"locklab/lab/testenv"
)

// Each experiment has its page in docs with its claim, and is in the index. Each picture that a page shows or links is there, and nothing
// else is.
func TestEveryExperimentHasItsPage(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	const docs = "../../../docs"
	index, err := os.ReadFile(filepath.Join(docs, path("README")))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{path("README")}
	for _, e := range claims.All() {
		want = append(want, path(e.ID))
		text, err := os.ReadFile(filepath.Join(docs, path(e.ID)))
		if err != nil || !strings.Contains(string(text), e.Claim) || !strings.Contains(string(index), "("+e.ID+".md)") {
			t.Errorf("%s has no page with its claim, or is not in the index (%v); make pages writes both", e.ID, err)
		}
		for _, image := range regexp.MustCompile(`\]\((`+images+`/[^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
			want = append(want, filepath.Join("experiments", filepath.FromSlash(image[1])))
		}
	}
	there := append(below(docs, path("*")), below(docs, filepath.Join("experiments", images, "*.svg"))...)
	for _, name := range want {
		if !slices.Contains(there, name) {
			t.Errorf("a page shows %s, which is not there", name)
		}
	}
	for _, name := range there {
		if !slices.Contains(want, name) {
			t.Errorf("%s belongs to no experiment", name)
		}
	}
}
