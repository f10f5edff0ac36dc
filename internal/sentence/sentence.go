// Package sentence shows errors to people.
package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of is an error as a sentence.
func Of(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
