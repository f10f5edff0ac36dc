package burst

import (
	"slices"

	"locklab/experiments"
)

// Version is a version of the app, and what is expected of it when two instances run it.
type Version struct {
	Name    string             // as in the URL
	Lock    string             // that protects the work
	Expect  experiments.Expect // of lost updates, and of two winners
	Article string             // final value that A4 reports for 666 page views
}

// Versions are all versions, in the order of the URL.
func Versions() []Version {
	return []Version{
		{"v0", "none, atomic", experiments.Never, "-"},
		{"v1", "none", experiments.Sometimes, "34"},
		{"v2", "process mutex", experiments.Sometimes, "391"},
		{"v3", "Redis lock", experiments.Never, "666"},
		{"v4", "RedLock", experiments.Never, "666"},
	}
}

// VersionNamed finds a version by its name.
func VersionNamed(name string) (Version, bool) {
	all := Versions()
	if i := slices.IndexFunc(all, func(v Version) bool { return v.Name == name }); i >= 0 {
		return all[i], true
	}
	return Version{}, false
}
