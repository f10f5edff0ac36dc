// Package claims lists the experiments of the catalogue. Each folder has those of one subject. The files of an experiment begin with its
// number: Go files with its variants, and a Markdown file with its lesson. To add one, add its files.
package claims

import (
	"slices"
	"strings"
	"sync"

	"locklab/lab"
	"locklab/lab/claims/anatomy"
	"locklab/lab/claims/caches"
	"locklab/lab/claims/faults"
	"locklab/lab/claims/limits"
	"locklab/lab/claims/orders"
	"locklab/lab/claims/pageviews"
	"locklab/lab/claims/shops"
	"locklab/lab/claims/stores"
)

// groups are the headlines, in the order in which they are listed, and the folder that has their experiments. The first letter of a
// headline is that of the ids.
var groups = []struct {
	headline string
	folder   *lab.Group
}{
	{"P · page views", pageviews.Experiments},
	{"G · the order that drivers grab", orders.Experiments},
	{"L · anatomy of a Redis lock", anatomy.Experiments},
	{"F · faults of the servers", faults.Experiments},
	{"D · locks in a database", stores.Experiments},
	{"M · locks in Memcached", stores.Experiments},
	{"R · the rate limit of calls to a supplier", limits.Experiments},
	{"S · the shop", shops.Experiments},
	{"C · a cache before a database", caches.Experiments},
}

// all are the experiments of every group, as they are listed.
var all = sync.OnceValue(func() (all lab.Catalogue) {
	for _, g := range groups {
		all = append(all, g.folder.Of(g.headline[0])...)
	}
	return all
})

// Group is the headline above an experiment.
func Group(id string) string {
	for _, g := range groups {
		if g.headline[0] == id[0] {
			return g.headline
		}
	}
	return ""
}

// All returns every experiment by its group, each in the order of its number.
func All() lab.Catalogue { return slices.Clone(all()) }

// OnInstances reports whether an experiment needs instances of the app. Without them it shows nothing.
func OnInstances(e lab.Experiment) bool {
	return strings.Contains("PG", e.ID[:1]) || e.ID == limits.R0.ID || e.ID == limits.R11.ID || e.ID == faults.F13.ID
}
