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
		files []string
		code  int
		want  []string
	}{
		{[]string{holds}, exitOK, []string{"v3", "7 ms", "a: 1, b: 1", "Verdict: as predicted"}},
		{[]string{loses}, exitUnexpected, []string{"unexpected: a violation happened that must not happen", "Verdict: unexpected"}},
		{[]string{expected}, exitOK, []string{"Verdict: as predicted"}},
		{[]string{idle}, exitInconclusive, []string{"no violation happened this time", "Verdict: inconclusive"}},
		{[]string{holds, empty, loses}, exitUnexpected, []string{"the file is empty", "must not happen", "Verdict: unexpected"}},
		{[]string{jtl(t, "v99", 2, 2)}, exitInconclusive, []string{`nothing is claimed of version "v99"`}},
	} {
		wantText(t, app(t.Context(), append([]string{"lab", "check"}, c.files...)...), c.code, append(c.want, c.files...)...)
	}
}

// Result files of both tools and both kinds of bursts, for programs.
func TestLabCheckAsJSON(t *testing.T) {
	got := app(t.Context(), "lab", "check", "--json", loadtoolData+"pview-v1.csv.jtl", loadtoolData+"order-v1.k6.json", writeTemp(t, "{"))
	var result struct {
		Files []struct {
			Tool, Kind, Version, Lock, Verdict, Why string
			Users                                   int
			PerInstance                             map[string]int `json:"per_instance"`
			Pageview                                *struct{ Final, Lost int }
			Order                                   *struct{ Winners int }
		}
		Verdict string
	}
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitInconclusive || len(result.Files) != 3 {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.out)
	}
	views, grabs, broken := result.Files[0], result.Files[1], result.Files[2]
	if v := views.Pageview; v == nil || v.Lost != 20-v.Final || views.Order != nil || views.Users != 20 || len(views.PerInstance) != 2 {
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

// app lab check of a store reports every experiment, also one whose newest run is gone. The worst verdict counts, whether it comes from a
// saved run or from a result file.
func TestLabCheckOfAStore(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	store := t.TempDir()
	if got := labRun(t, "L10", "L04", "--embedded", "--trials=1", "--out="+store); got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	lost := jtl(t, "v3", 1, 1)
	for _, args := range [][]string{{lost, store}, {store, lost}} {
		wantText(t, app(t.Context(), "lab", "check", args[0], args[1]), exitUnexpected, "L04-shared-value", "L10-set-without-nx")
	}
	gone, err := os.Readlink(filepath.Join(store, "L10-set-without-nx", "latest"))
	if err == nil {
		err = os.RemoveAll(filepath.Join(store, "L10-set-without-nx", gone))
	}
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, app(t.Context(), "lab", "check", store), exitInconclusive, "L04-shared-value",
		"L10-set-without-nx/latest: inconclusive: the link to its newest run")
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
