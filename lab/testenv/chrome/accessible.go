package chrome

import (
	_ "embed"
	"strings"

	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.1 from npm, which checks a page against WCAG; its licence is beside it.
//
//go:embed axe/axe.min.js
var axe string

// audit returns a line for each violation: the rule, and the first element that violates it.
const audit = `axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((result) =>
	result.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes[0].html + " " + v.nodes[0].failureSummary).join("\n"))`

// Accessible fails the test when the page, as it is now, violates a rule of accessibility that a program can check.
func (b *Browser) Accessible(where string) {
	b.T.Helper()
	Ask[bool](b, axe+"\n; typeof axe === 'object'")
	if found := Value(b, chromedp.Evaluate[string](audit, chromedp.EvalAwaitPromise)); found != "" {
		b.T.Errorf("%s:\n%s", where, strings.TrimSpace(found))
	}
}
