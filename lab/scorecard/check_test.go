package scorecard_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/scorecard"
	"locklab/lab/testenv"
)

func init() {
	grants := map[string]string{
		"acquire": `{"type":"granted","id":"%s"}`, "acquire a2": `{"type":"refused","id":"%s"}`, "release": `{"type":"released","id":"%s"}`,
	}
	serve := func(lines map[string]string) {
		hello()
		ready()
		for answer(lines) {
		}
	}
	hostiles["runs on"] = func() { serve(grants); stay() }
	hostiles["re-entrant"] = func() { serve(map[string]string{"acquire": grants["acquire"], "release": grants["release"]}) }
	hostiles["no token"] = func() {
		fmt.Printf(`{"type":"hello","protocol":1,"name":"x","store":"redis","pid":%d,"tokens":true}`+"\n", os.Getpid())
		ready()
		for answer(grants) {
		}
	}
}

// checked checks the test binary with a defect, over miniredis.
func checked(t *testing.T, mutant string) (*scorecard.Checked, string) {
	t.Helper()
	var lines bytes.Buffer
	transcript := clients.NewTranscript(&lines)
	ctx := clients.WithTranscript(t.Context(), transcript)
	c, err := scorecard.Check(ctx, []string{"/usr/bin/env", asProgram + "=" + mutant, os.Args[0]}, lab.Options{})
	if err != nil || transcript.Flush() != nil {
		t.Fatal(err)
	}
	return c, lines.String()
}

// A program that speaks the protocol passes every step, and its author sees what it claims.
func TestASoundProgramPassesTheCheck(t *testing.T) {
	t.Parallel()
	c, _ := checked(t, "none")
	if c.Wrong != "" || len(c.Steps) != 8 || !c.Steps[7].Done || c.Server == "" {
		t.Errorf("%+v", c)
	}
	made, others := c.Claimed()
	if strings.Join(made, " ") != "renews tokens tells_loss extends" || strings.Join(others, " ") != "waits_by_message waits_for_replica" {
		t.Errorf("claimed %v, and not %v", made, others)
	}
}

// The check ends at the first step that is wrong, says what was wrong and what to do, and keeps the stderr.
func TestTheCheckNamesTheFirstError(t *testing.T) {
	t.Parallel()
	for mutant, want := range map[string]struct {
		step       int
		says, mend string
	}{
		"garbage":    {1, `printed "INFO connected"`, "hello"},
		"crash":      {2, "has ended with exit status 3", "servers"},
		"refuses":    {3, "maintenance until Monday", "is free"},
		"no token":   {3, "claims tokens", "granted"},
		"re-entrant": {4, "first acquire (a1) holds the key", "client of its own"},
		"twice":      {4, "granted, while", "client of its own"},
		"hasty":      {0, "", ""},
	} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			c, _ := checked(t, mutant)
			last := c.Steps[len(c.Steps)-1]
			if want.step == 0 {
				want.step = 8
			}
			said := strings.Contains(c.Wrong, want.says) && strings.Contains(c.Mend, want.mend)
			if len(c.Steps) != want.step || last.Done == (want.says != "") || !said {
				t.Errorf("%+v", c)
			}
			if mutant == "crash" && strings.Join(c.Stderr, "|") != "first|no such server" {
				t.Errorf("its stderr is %q", c.Stderr)
			}
		})
	}
}

// A program that runs on after stop is told so, and is killed.
func TestTheCheckFindsAProgramThatRunsOn(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	if c, _ := checked(t, "runs on"); !strings.Contains(c.Wrong, "runs on") || len(c.Steps) != 7 {
		t.Errorf("%+v", c)
	}
}

// A transcript has each line of both sides in order, with the row, the variant and the copy.
func TestATranscriptHasEveryLine(t *testing.T) {
	t.Parallel()
	_, text := checked(t, "none")
	var said []string
	for line := range strings.Lines(text) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 6 || strings.Join(columns[1:4], "|") != "check|no fault|A" {
			t.Fatalf("the line %q", line)
		}
		_, kind, _ := strings.Cut(columns[5], `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		said = append(said, columns[4]+kind)
	}
	const want = "<hello >start <ready >acquire <granted >acquire <refused >extend <granted >release <released >acquire <granted " +
		">release <released >stop"
	if got := strings.Join(said, " "); got != want {
		t.Errorf("said\n%s\nwant\n%s", got, want)
	}
}

// A transcript of a run has the lines of each trial and of each copy, also of the hello before the first row.
func TestATranscriptHasEveryCopy(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	var lines bytes.Buffer
	transcript := clients.NewTranscript(&lines)
	ctx := clients.WithTranscript(t.Context(), transcript)
	p, err := scorecard.Ask(ctx, []string{"/usr/bin/env", asProgram + "=none", os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := scorecard.Chosen([]string{"T03"})
	if err != nil {
		t.Fatal(err)
	}
	scorecard.Run(ctx, p, rows, 1, lab.Options{Pace: pace(t)})
	if err := transcript.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"\t-\tbefore the first row\tA\t<\t{\"type\":\"hello\""} {
		if strings.Count(lines.String(), says) != 1 {
			t.Errorf("no %q in %s", says, lines.String())
		}
	}
	for _, variant := range []string{"the release is in time", "the key is lost before the release"} {
		for _, name := range []string{"A", "B", "C"} {
			if stop := "\tT03-late-release\t" + variant + "\t" + name + "\t>\t{\"type\":\"stop\"}\n"; strings.Count(lines.String(), stop) != 1 {
				t.Errorf("no %q in %s", stop, lines.String())
			}
		}
	}
}
