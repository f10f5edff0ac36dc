package live

import (
	"context"
	"errors"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
	"locklab/versions"
)

// left is what a version left in a burst of 100 views.
func left(version string, final int64, winners int, v lab.Verdict) burst.VersionJudged {
	judged := burst.Judged{Version: version, Verdict: v}
	return burst.VersionJudged{
		Pageview: burst.PageviewRow{Judged: judged, Counts: burst.Counts{Final: final, Lost: 100 - int(final)}},
		Order:    burst.OrderRow{Judged: judged, Winners: winners},
	}
}

// The sentence about a run names every version: what it lost, that it proves nothing, or that it kept all. It is red with any loss.
func TestARunNamesEveryVersion(t *testing.T) {
	failed := left("v5", 100, 1, lab.Inconclusive)
	failed.Pageview.Failed = []string{"connection reset"}
	v1, v2 := left("v1", 6, 9, lab.AsExpected), left("v2", 60, 2, lab.AsExpected)
	v3, v4 := left("v3", 100, 1, lab.AsExpected), left("v4", 100, 1, lab.AsExpected)
	for says, c := range map[string]struct {
		class string
		rows  []burst.VersionJudged
	}{
		"v1 lost 94 of 100 views and v2 lost 40. v3 and v4 lost nothing, and had one winner.": {
			"answer lost", []burst.VersionJudged{v1, v2, v3, v4},
		},
		"v3 lost nothing, and had one winner.":                                              {"answer good", []burst.VersionJudged{v3}},
		"v5 proves nothing: 1 of 100 requests failed. v3 lost nothing, and had one winner.": {"answer", []burst.VersionJudged{v3, failed}},
		"v4: nothing lost, as predicted, 2 winners, 1 too many, unexpected.": {
			"answer lost", []burst.VersionJudged{{Pageview: v4.Pageview, Order: left("v4", 0, 2, lab.Unexpected).Order}},
		},
	} {
		e := endedBurst{Results: &burst.Results{Users: 100}}
		for _, row := range c.rows {
			e.Pageview, e.Order = append(e.Pageview, row.Pageview), append(e.Order, row.Order)
		}
		if e.Says() != says || e.AnswerClass() != c.class {
			t.Errorf("%q (%s) instead of %q (%s)", e.Says(), e.AnswerClass(), says, c.class)
		}
	}
}

// A card is red as soon as a view is lost, and green only when the burst is over. Until then its value is what was counted, not a larger
// one whose answers come late. A verdict that nobody predicted is named.
func TestACardIsGreenOnlyWhenItIsOver(t *testing.T) {
	lost, kept, odd := left("v1", 6, 9, lab.AsExpected), left("v3", 100, 1, lab.AsExpected), left("v3", 100, 2, lab.Unexpected)
	for name, c := range map[string]struct {
		card
		value          int64
		tone, says, is string
	}{
		"runs":       {card{Wrote: []html.Written{{Value: 1}, {Value: 9}}}, 2, "", "", ""},
		"loses":      {card{Wrote: []html.Written{{Value: 1}, {Instance: 1, Value: 1}}}, 1, "lost", "lost 1", ""},
		"has lost":   {card{Judged: &lost}, 6, "lost", "lost 94", ""},
		"kept all":   {card{Judged: &kept}, 100, "good", "nothing lost", ""},
		"unexpected": {card{Judged: &odd}, 100, "lost", "counted twice", "unexpected"},
	} {
		if c.Value() != c.value || c.Tone() != c.tone || c.Says() != c.says {
			t.Errorf("%s: %d %q %q", name, c.Value(), c.Tone(), c.Says())
		}
		if c.Judged != nil && c.Surprise() != c.is {
			t.Errorf("%s: the verdict is %q", name, c.Surprise())
		}
	}
	if drawn := string(card{Judged: &lost}.Drivers()); strings.Count(drawn, `class="figure"`) != 9 {
		t.Errorf("nine winners are drawn as %s", drawn)
	}
}

// All versions fit a projector together with the sentence about them, with a number of at least 48 px on each card. No text is too small to
// be read there or on a phone, which need not be scrolled sideways. Nothing on a card overlaps or is cut off.
func TestTheResultsOfABurstFitAScreen(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, base := burstPage(t, nil, func(context.Context, func(string)) (r burst.Running, err error) { return r, errors.New("none") })
	now, e := newBurstNow(burst.Plan{Users: 100, Versions: versions.Names()}), endedBurst{Results: &burst.Results{Users: 100}}
	for _, v := range versions.All() {
		row := left(v.Name, 100, 1, lab.AsExpected)
		if v.LosesUpdates {
			row = left(v.Name, 60, 20, lab.AsExpected)
		}
		for i := range int64(100) {
			now.apply(burst.Answered{Version: v.Name, Instance: []string{"a", "b"}[i%2], Value: min(i+1, row.Pageview.Final)})
		}
		now.apply(row)
		e.Pageview, e.Order = append(e.Pageview, row.Pageview), append(e.Order, row.Order)
	}
	s.bursts.shown = now
	endBurst(s, e.Results)
	b := chrome.New(t)
	for _, c := range []struct {
		view     chrome.View
		smallest float64
	}{{chrome.View{Width: 1280, Height: 720, Scheme: "light"}, 16}, {chrome.View{Width: 390, Height: 780, Scheme: "dark"}, 13}} {
		b.Open(base+"/ui/burst", c.view)
		if px := chrome.Ask[float64](b, `Math.min(...[...document.querySelectorAll("main *")]
			.filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
			.map((e) => parseFloat(getComputedStyle(e).fontSize)))`); px < c.smallest {
			t.Errorf("%d pixels wide: a text of %v px", c.view.Width, px)
		}
		if px := chrome.Ask[float64](b, `parseFloat(getComputedStyle(document.querySelector(".card .number")).fontSize)`); px < 48 {
			t.Errorf("%d pixels wide: the final value has %v px", c.view.Width, px)
		}
		if wide := chrome.Ask[string](b, `[...document.querySelectorAll("main, .card, .card *, .finals *")]
			.filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
			.map((e) => e.localName + " " + e.getAttribute("class")).join()`); wide != "" {
			t.Errorf("%d pixels wide: cut off is %s", c.view.Width, wide)
		}
		if height := chrome.Ask[float64](b, `document.querySelector(".card:last-child").getBoundingClientRect().bottom -
			document.querySelector(".answer").getBoundingClientRect().top`); c.view.Width > 1000 && height > 720 {
			t.Errorf("the results are %v pixels high", height)
		}
	}
}
