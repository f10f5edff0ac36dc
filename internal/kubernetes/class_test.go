package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// measured is a class of three and of six participants. Each lab more adds half a GiB after its burst, and a quarter of a processor.
var measured = Class{Sizes: []Size{
	{Participants: 3, Pods: 48, Idle: Need{Memory: 1 << 30, Processors: 1, Machine: 2}, Loaded: 3 << 30},
	{
		Participants: 6, Pods: 84, Idle: Need{Memory: 2 << 30, Processors: 1.75, Machine: 3}, Loaded: 4.5 * (1 << 30),
		First: time.Second, Last: time.Minute,
	},
}}

// A class that did not run is estimated by what each further lab has added.
func TestAClassIsEstimated(t *testing.T) {
	got := measured.Of(25) // 26 labs: 19 more than ran
	if got.Memory != 14*(1<<30) || math.Abs(got.Processors-6.5) > 1e-9 || got.Labs != 26 || got.Pods != 312 || got.Nodes != 3 {
		t.Errorf("25 participants need %+v", got)
	}
	if same := measured.Of(6); same.Memory != measured.Sizes[1].Loaded || same.Nodes != 1 {
		t.Errorf("six participants need %+v", same)
	}
}

// The page has the class, and says what is measured and what is computed.
func TestThePageHasTheClass(t *testing.T) {
	text, err := pageOf(findings{All: []Result{{Topology: "single"}}, Class: measured}, time.Now(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 6 | 7 | 84 | 0.0 s | 2.00 GiB | 4.50 GiB | 1.75 | 3.00 | 1.0 s to 60.0 s | 0.0 s |\n",
		"**25 participants need 14.00 GiB of memory and 6.5 processors for their pods",
		"each lab beyond the first size added 0.50 GiB after its burst and 0.25 processors without load. These 26 labs have 312 pods.",
		"so they need 3 nodes.",
	} {
		if !strings.Contains(strings.ReplaceAll(text, "\nnode", " node"), want) {
			t.Errorf("not on the page: %s\n%s", want, text[strings.Index(text, "## A class"):])
		}
	}
}
