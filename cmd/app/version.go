package main

import "runtime/debug"

// stamp is set by the Dockerfile (-ldflags "-X main.stamp=…").
var stamp string

// build names what this program was built from: the stamp, or the commit that Go noted.
func build() string {
	if stamp != "" {
		return stamp
	}
	info, _ := debug.ReadBuildInfo()
	commit, changed := "unknown", ""
	if info == nil {
		return commit
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	return commit + changed
}
