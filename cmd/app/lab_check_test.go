package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

const loadtoolData = "../../lab/burst/loadtool/testdata/"

// jtl writes a result file of JMeter in which two users wrote the values 1 and value, and returns its name.
func jtl(t *testing.T, version string, value, final int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("timeStamp,elapsed,label,responseCode,responseMessage\n")
	for _, r := range []struct{ label, answer string }{
		{"reset", `{"value":0}`},
		{"view", fmt.Sprintf(`{"instance":"a","version":%q,"value":1}`, version)},
		{"view", fmt.Sprintf(`{"instance":"b","version":%q,"value":%d}`, version, value)},
		{"final", fmt.Sprintf(`{"value":%d}`, final)},
	} {
		fmt.Fprintf(&b, "1795653984000,7,%s,200,\"%s\"\n", r.label, strings.ReplaceAll(r.answer, `"`, `""`))
	}
	return writeTemp(t, b.String())
}

func writeTemp(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.jtl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The worst verdict decides the exit code. The output has the reasons.
func TestLabCheck(t *testing.T) {
	holds, loses, expected, idle := jtl(t, "v3", 2, 2), jtl(t, "v3", 1, 1), jtl(t, "v1", 1, 1), jtl(t, "v1", 2, 2)
	empty := writeTemp(t, "")
	for _, c := range []struct {
		name  string
		files []string
		code  int
		want  []string
	}{
		{"v3 holds", []string{holds}, exitOK, []string{"v3", "7 ms", "a: 1, b: 1", "Verdict: as predicted"}},
		{"v3 loses", []string{loses}, exitUnexpected, []string{"unexpected: a violation happened that must not happen", "Verdict: unexpected"}},
		{"v1 loses", []string{expected}, exitOK, []string{"Verdict: as predicted"}},
		{"v1 loses nothing", []string{idle}, exitInconclusive, []string{"no violation happened this time", "Verdict: inconclusive"}},
		{"one is empty", []string{holds, empty}, exitInconclusive, []string{"inconclusive: the file is empty", "Verdict: inconclusive"}},
		{"one loses", []string{holds, empty, loses}, exitUnexpected, []string{"the file is empty", "must not happen", "Verdict: unexpected"}},
		{"no such version", []string{jtl(t, "v99", 2, 2)}, exitInconclusive, []string{`nothing is claimed of version "v99"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := app(t.Context(), append([]string{"lab", "check"}, c.files...)...)
			if got.code != c.code || got.err != "" {
				t.Errorf("exit %d, want %d; %s", got.code, c.code, got.err)
			}
			for _, want := range append(c.want, c.files...) {
				if !strings.Contains(got.out, want) {
					t.Errorf("%q is missing in:\n%s", want, got.out)
				}
			}
		})
	}
}

// Result files of both tools and both kinds of bursts.
func TestLabCheckAsJSON(t *testing.T) {
	got := app(t.Context(), "lab", "check", "--json", loadtoolData+"pview-v1.csv.jtl", loadtoolData+"order-v1.k6.json", writeTemp(t, "{"))
	var result struct {
		Files []struct {
			Tool, Kind, Version, Lock, Verdict, Why string
			Users                                   int
			PerInstance                             map[string]int `json:"per_instance"`
			Pageview                                *struct {
				Final, Lost int
				Inside      int `json:"written_twice_inside_one"`
				Across      int `json:"written_twice_across_both"`
			}
			Order *struct{ Winners int }
			Time  *struct {
				P50 float64 `json:"p50_ms"`
				Max float64 `json:"max_ms"`
			}
		}
		Verdict string
	}
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitInconclusive || len(result.Files) != 3 {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.out)
	}
	views, grabs, broken := result.Files[0], result.Files[1], result.Files[2]
	if v := views.Pageview; v == nil || v.Lost != 20-v.Final || v.Inside+v.Across == 0 || views.Order != nil || views.Users != 20 ||
		len(views.PerInstance) != 2 || views.Time.P50 <= 0 {
		t.Errorf("the views are %+v", views)
	}
	if grabs.Order == nil || grabs.Order.Winners != 20 || grabs.Pageview != nil || grabs.Kind != "order" || grabs.Tool != "k6" ||
		grabs.Lock != "none" || grabs.Verdict != "as expected" {
		t.Errorf("the grabs are %+v", grabs)
	}
	if broken.Verdict != "inconclusive" || !strings.Contains(broken.Why, "cut off") || result.Verdict != "inconclusive" {
		t.Errorf("the broken file is %+v", broken)
	}
}

// app lab check of a store reports every experiment, also one whose newest run is gone.
func TestLabCheckOfAStore(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	store := t.TempDir()
	for _, id := range []string{"L04", "L10"} {
		if got := labRun(t, id, "--embedded", "--trials=1", "--out="+store); got.code != exitOK {
			t.Fatalf("exit %d: %s", got.code, got.err)
		}
	}
	gone, err := os.Readlink(filepath.Join(store, "L10-set-without-nx", "latest"))
	if err == nil {
		err = os.RemoveAll(filepath.Join(store, "L10-set-without-nx", gone))
	}
	if err != nil {
		t.Fatal(err)
	}
	got := app(t.Context(), "lab", "check", store)
	if got.code != exitInconclusive || !strings.Contains(got.out, "L04-shared-value") ||
		!strings.Contains(got.out, "L10-set-without-nx/latest: inconclusive: the link to its newest run") {
		t.Errorf("exit %d: %s%s", got.code, got.err, got.out)
	}
}

func TestLabCheckMisuse(t *testing.T) {
	wantSentence(t, app(t.Context(), "lab", "check"), exitUsage, "path")
	wantSentence(t, app(t.Context(), "lab", "check", "no-such-file"), exitUsage, "no-such-file", "JMeter or k6")
	wantSentence(t, app(t.Context(), "lab", "check", t.TempDir()), exitUsage, "cannot be read")
}

// Control characters in a file must not reach the terminal.
func TestLabCheckPrintsNoControlCharacters(t *testing.T) {
	name := jtl(t, "v3", 2, 2)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got := app(t.Context(), "lab", "check", writeTemp(t, strings.ReplaceAll(string(text), `""b""`, `""\u001b[2J\nb""`)))
	if strings.ContainsRune(got.out, '\x1b') || !strings.Contains(got.out, "[2J") || got.code != exitOK {
		t.Errorf("exit %d: %q", got.code, got.out)
	}
}

// The worst verdict counts, whether it comes from a saved run or from a result file.
func TestLabCheckCountsRunsAndFiles(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	store := filepath.Join(t.TempDir(), "store")
	got := app(t.Context(), "lab", "run", "L03", "--embedded", "--trials=1", "--out="+store, "--json")
	if !strings.Contains(got.out, `"redis": "miniredis"`) {
		t.Errorf("it ran on another server despite --embedded: %s", got.out)
	}
	if got.code != exitOK && got.code != exitInconclusive {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	lost := jtl(t, "v3", 1, 1)
	for _, args := range [][]string{{lost, store}, {store, lost}} {
		if got := app(t.Context(), "lab", "check", args[0], args[1]); got.code != exitUnexpected {
			t.Errorf("with a file in which v3 lost a view: exit %d: %s%s", got.code, got.err, got.out)
		}
	}
}
