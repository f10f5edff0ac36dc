// Package outcome says in a few words what a run showed, and how a reader should take it. A terminal and a page use the same words.
//
// A loss is bad for the reader, even when it was predicted: only an outcome in which nothing was lost is [Good].
package outcome

import (
	"fmt"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/versions"
)

// Tone is how a reader should take an outcome. Each tone looks different.
type Tone int

// The tones.
const (
	Unclear Tone = iota // the run shows nothing
	Good                // nothing was lost, as predicted
	Bad                 // something was lost, as predicted
	Alarm               // it must not happen, and it did
	Neutral             // neither good nor bad, such as the verdict of several variants
)

// Outcome is what a run showed.
type Outcome struct {
	Words string
	Tone  Tone
}

// Whole is the outcome of a whole run. It is neither good nor bad, because some of its variants lose on purpose.
func Whole(v lab.Verdict) Outcome {
	switch v {
	case lab.AsExpected:
		return Outcome{"as predicted", Neutral}
	case lab.Unexpected:
		return Outcome{v.String(), Alarm}
	}
	return Outcome{v.String(), Unclear}
}

// Of judges what was seen, in words. lost reports whether that is a loss.
func Of(seen string, lost bool, v lab.Verdict) Outcome {
	o := Whole(v)
	o.Words = seen + ", " + o.Words
	switch {
	case v == lab.AsExpected && lost:
		o.Tone = Bad
	case v == lab.AsExpected:
		o.Tone = Good
	}
	return o
}

// Variant is the outcome of a variant of an experiment.
func Variant(v lab.VariantJudgement) Outcome {
	if v.LeftOut != "" {
		return Outcome{v.Seen(), Unclear}
	}
	return Of(v.Seen(), v.Violations > 0, v.Verdict)
}

// Explored is the outcome of all interleavings of a lock. Without a claim about them it is neutral.
func Explored(l lab.ExploredLock) Outcome {
	if l.Verdict == nil {
		return Outcome{l.String() + ", not claimed", Neutral}
	}
	return Of(l.String(), l.Violating.Sign() > 0, *l.Verdict)
}

// Views is the outcome of a version's page views.
func Views(version string, c burst.Counts, v lab.Verdict) Outcome {
	twice := c.Inside + c.Across
	switch {
	case c.Lost == 1:
		return Of("1 view lost", true, v)
	case c.Lost > 0:
		return Of(fmt.Sprintf("%d views lost", c.Lost), true, v)
	case twice > 0:
		return Of(fmt.Sprintf("%d values written twice", twice), true, v)
	case violated(version, v): // the counts do not have it
		return Of("some counted twice", true, v)
	}
	return Of("nothing lost", false, v)
}

// ViewsBeside is [Views] beside columns that have what was lost. It says only what they do not: that values were written or counted twice
// although nothing was lost, and how many requests failed.
func ViewsBeside(version string, c burst.Counts, failed int, v lab.Verdict) Outcome {
	seen := ""
	switch twice := c.Inside + c.Across; {
	case c.Lost > 0: // a column has it
	case twice > 0:
		seen = fmt.Sprintf("%d written twice", twice)
	case violated(version, v):
		seen = "some counted twice"
	}
	return beside(seen, failed, v, Views(version, c, v).Tone)
}

// WinnersBeside is [Winners] beside a column that has them.
func WinnersBeside(n, failed int, v lab.Verdict) Outcome {
	return beside("", failed, v, Winners(n, v).Tone)
}

func beside(seen string, failed int, v lab.Verdict, tone Tone) Outcome {
	words := Whole(v).Words
	if failed > 0 {
		words = fmt.Sprintf("%d failed, %s", failed, words)
	}
	if seen != "" {
		words = seen + ", " + words
	}
	return Outcome{words, tone}
}

// violated reports whether the page views of a version had a violation, if its verdict tells.
func violated(version string, v lab.Verdict) bool {
	of, _ := versions.Find(version)
	return v == lab.Unexpected || v == lab.AsExpected && of.LosesUpdates
}

// Winners is the outcome of an order that several drivers wanted.
func Winners(n int, v lab.Verdict) Outcome {
	switch {
	case n > 1:
		return Of(fmt.Sprintf("%d winners, %d too many", n, n-1), true, v)
	case n == 1:
		return Of("one winner", false, v)
	}
	return Of("no winner", false, v)
}
