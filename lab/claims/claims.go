// Package claims lists the experiments of the catalogue. Each folder has those of one subject. The files of an experiment begin with its
// number: Go files with its variants, and a Markdown file with its lesson. To add one, add its files and its name here.
package claims

import (
	"embed"
	"slices"
	"strings"

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

// groups are the experiments by their headlines. The first letter of a headline is that of the ids.
var groups = []struct {
	headline string
	lessons  embed.FS
	of       []lab.Experiment
}{
	{"P · page views", pageviews.Lessons, []lab.Experiment{
		pageviews.P0, pageviews.P1, pageviews.P2, pageviews.P3, pageviews.P4, pageviews.P5, pageviews.P6, pageviews.P7, pageviews.P8,
		pageviews.P9,
	}},
	{"G · the order that drivers grab", orders.Lessons, []lab.Experiment{
		orders.G1, orders.G2, orders.G3, orders.G4, orders.G5, orders.G6, orders.G7, orders.G8, orders.G9, orders.G11, orders.G12,
	}},
	{"L · anatomy of a Redis lock", anatomy.Lessons, []lab.Experiment{
		anatomy.L01, anatomy.L02, anatomy.L03, anatomy.L04, anatomy.L05, anatomy.L06, anatomy.L07, anatomy.L08, anatomy.L09,
		anatomy.L10, anatomy.L11, anatomy.L12, anatomy.L13, anatomy.L14, anatomy.L15, anatomy.L16, anatomy.L17, anatomy.L18,
		anatomy.L19, anatomy.L20, anatomy.L21, anatomy.L22, anatomy.L23, anatomy.L24, anatomy.L25,
	}},
	{"F · faults of the servers", faults.Lessons, []lab.Experiment{
		faults.F01, faults.F02, faults.F03, faults.F04, faults.F05, faults.F06, faults.F07, faults.F08, faults.F09, faults.F10,
		faults.F11, faults.F12, faults.F13,
	}},
	{"D · locks in a database", stores.Lessons, []lab.Experiment{
		stores.D01, stores.D02, stores.D03,
	}},
	{"M · locks in Memcached", stores.Lessons, []lab.Experiment{
		stores.M01, stores.M02, stores.M03,
	}},
	{"R · the rate limit of calls to a supplier", limits.Lessons, []lab.Experiment{
		limits.R0, limits.R1, limits.R2, limits.R3, limits.R4, limits.R5, limits.R6, limits.R7, limits.R8, limits.R9, limits.R10,
	}},
	{"S · the shop", shops.Lessons, []lab.Experiment{
		shops.S1, shops.S2, shops.S3, shops.S4,
	}},
	{"C · a cache before a database", caches.Lessons, []lab.Experiment{
		caches.C1, caches.C2, caches.C3, caches.C4, caches.C5, caches.C6,
	}},
}

// all are the experiments of every group with their lessons, as they are listed.
var all = func() (all lab.Catalogue) {
	for _, g := range groups {
		for _, e := range g.of {
			var err error
			if e.Lesson, err = lab.ReadLesson(g.lessons, e.ID); err != nil {
				panic(err) // it is embedded
			}
			e.Claim = strings.Join(strings.Fields(e.Claim), " ") // it may be written in several lines
			all = append(all, e)
		}
	}
	return all
}()

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
func All() lab.Catalogue { return slices.Clone(all) }

// OnInstances reports whether an experiment needs instances of the app. Without them it shows nothing.
func OnInstances(e lab.Experiment) bool {
	return strings.Contains("PG", e.ID[:1]) || e.ID == limits.R0.ID || e.ID == faults.F13.ID
}
