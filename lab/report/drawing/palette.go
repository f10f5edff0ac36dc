package drawing

import (
	"fmt"
	"strings"
)

// palette has each colour of a page and of a picture: light and dark.
var palette = []struct{ name, light, dark string }{
	{"ground", "#fff", "#14171c"},
	{"raised", "#f5f6f8", "#1d2127"},
	{"line", "#d4d8df", "#3a414c"},
	{"text", "#1a1d23", "#e8eaee"},
	{"quiet", "#59606c", "#a4acb8"},
	{"accent", "#0b5cad", "#8ec3ff"},
	{"hold", "#a9cdf0", "#24507c"},
	{"hold-edge", "#2b6cb0", "#79b4ee"},
	{"wait", "#c9ced6", "#4a525e"},
	{"good", "#00664f", "#63d6b4"},
	{"bad", "#b3141f", "#ff8b8b"},
	{"bad-soft", "#fbdcdd", "#57181d"},
	{"doubt", "#7a5a00", "#e9c46a"},
	{"fault", "#8a4b9c", "#d5a4e4"},
}

// Colours declares the palette as properties: light, and dark where a page says so or the system does. A browser without light-dark()
// shows the light ones.
func Colours() string {
	var light, both strings.Builder
	for _, c := range palette {
		fmt.Fprintf(&light, "--%s: %s; ", c.name, c.light)
		fmt.Fprintf(&both, "--%s: light-dark(%s, %s); ", c.name, c.light, c.dark)
	}
	return fmt.Sprintf(":root { color-scheme: light dark; %s}\n@supports (color: light-dark(red, red)) { :root { %s} }\n", &light, &both)
}

// Preferred declares the palette for a picture in another page, which follows the reader's preference.
func Preferred() string {
	var light, dark strings.Builder
	for _, c := range palette {
		fmt.Fprintf(&light, "--%s:%s;", c.name, c.light)
		fmt.Fprintf(&dark, "--%s:%s;", c.name, c.dark)
	}
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", &light, &dark)
}
