package experiments

// Claim is what is expected of a version when two instances run it.
type Claim struct {
	Version string // as in the URL
	Lock    string // what protects the work
	Expect  Expect // of lost updates, and of two winners
	Article string // final value that A4 reports for 666 page views
}

// Claims are those of all versions, in the order of the URL.
func Claims() []Claim {
	return []Claim{
		{"v0", "none, atomic", Never, "-"},
		{"v1", "none", Sometimes, "34"},
		{"v2", "process mutex", Sometimes, "391"},
		{"v3", "Redis lock", Never, "666"},
		{"v4", "RedLock", Never, "666"},
	}
}

// ClaimOf finds the claim of a version; without one it reports false.
func ClaimOf(version string) (Claim, bool) {
	for _, c := range Claims() {
		if c.Version == version {
			return c, true
		}
	}
	return Claim{}, false
}
