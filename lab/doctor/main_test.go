package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// answering is a machine on which each command, named by its first words, prints the given text. Of one that begins with Error it is the
// error. Other commands are not installed.
func answering(lab Lab, answers map[string]string) machine {
	run := func(_ context.Context, name string, args ...string) (string, error) {
		line := strings.Join(append([]string{name}, args...), " ")
		for words, answer := range answers {
			if !strings.HasPrefix(line, words) {
				continue
			}
			if message, failed := strings.CutPrefix(answer, "Error "); failed {
				return "", errors.New(message)
			}
			return answer, nil
		}
		return "", notFound(name)
	}
	return machine{lab: lab, run: run}
}

// want compares one line with what it must say.
func want(t *testing.T, got []Result, ok bool, words ...string) {
	t.Helper()
	if len(got) != 1 || got[0].OK != ok {
		t.Fatalf("%+v; want one line, ok: %v", got, ok)
	}
	for _, word := range words {
		if !strings.Contains(got[0].Found+" → "+got[0].Do, word) {
			t.Errorf("%q is not in %+v", word, got[0])
		}
	}
	if !ok && got[0].Do == "" {
		t.Errorf("a problem without what to do: %+v", got[0])
	}
}
