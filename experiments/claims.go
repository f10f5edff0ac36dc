package experiments

// Version is what is expected of a version when two instances run it.
type Version struct {
	Name    string // as in the URL
	Lock    string // what protects the work
	Expect  Expect // of lost updates, and of two winners
	Article string // final value that A4 reports for 666 page views
}

// Versions are those of all versions, in the order of the URL.
func Versions() []Version {
	return []Version{
		{"v0", "none, atomic", Never, "-"},
		{"v1", "none", Sometimes, "34"},
		{"v2", "process mutex", Sometimes, "391"},
		{"v3", "Redis lock", Never, "666"},
		{"v4", "RedLock", Never, "666"},
	}
}

// VersionNamed finds the claim of a version; without one it reports false.
func VersionNamed(version string) (Version, bool) {
	for _, c := range Versions() {
		if c.Name == version {
			return c, true
		}
	}
	return Version{}, false
}
