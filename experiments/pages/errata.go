package pages

import (
	"slices"

	"locklab/experiments"
)

// erratum is something that an article has wrong, and that is known without a run.
type erratum struct {
	Article, What string
	By            string // the experiment of the catalogue that shows it; empty: none can
	Why           string // none can
}

// harmless is why there is no run of what is odd, and works.
const harmless = "it breaks nothing"

// errata are those of all articles, in the articles' order. The words of an experiment that shows one are its own.
var errata = []erratum{
	{Article: "A0", What: "The lock script is SET without NX and then EXPIRE: it always succeeds, excludes nobody and steals the lock.", By: "L10-set-without-nx"},
	{Article: "A0", What: "The script that extends the lease begins with SET without NX as well: it overwrites another holder's value.", By: "L10-set-without-nx"},
	{Article: "A0", What: "The aspect reads the counter and compares before it runs the script, and never looks at the script's result: concurrent callers pass together, and even alone it admits one too many.", By: "R2-article-aspect"},
	{Article: "A0", What: "The repair of a TTL of -1 is for a crash between INCR and EXPIRE, which inside one script cannot happen: such a counter was made elsewhere.", By: "R5-incr-then-expire"},
	{Article: "A0", What: "Not in the article: a fixed window admits up to twice the limit around the border of two windows.", By: "R4-window-edge"},
	{Article: "A2", What: "The release is GET, a comparison in the client, and DEL: two commands, so that it can still delete another's lock.", By: "L03-foreign-unlock"},
	{Article: "A2", What: "The lock's value is the driver's id, which is not unique per attempt: one request of a driver can release the lock of another.", By: "L04-shared-value"},
	{Article: "A2", What: "The RedLock listing passes node 2 twice: three names, two nodes. Without node 2 there is no quorum, and node 2 alone is one.", By: "F08-redlock-same-node-twice"},
	{Article: "A2", What: "The form that does not wait returns null to every loser: they are told nothing.", By: "G5-losers-are-told"},
	{Article: "A3", What: "That A's lock times out, others get it, and A can lock again is called re-entrance; it is expiry and re-entrance, two properties.", By: "L08-reentrant"},
	{Article: "A3", What: "lock(2, 3, SECONDS) does not exist; and with an explicit lease Redisson starts no watchdog, which the article says is always on.", By: "L07-explicit-lease"},
	{Article: "A3", What: "Waiting is described as a loop that keeps trying; Redisson waits for a message.", By: "L09-waiting"},
	{Article: "A3", What: "acquire returns true whatever happened.", By: "L10-set-without-nx"},
	{Article: "A4", What: "The listing of v1 increments with an atomic INCR: as printed it ends at 666, and not at 34. The 34 needs the read and the write of v2 without its lock.", By: "P0-atomic"},
	{Article: "A4", What: "The RedLock listing names its five locks lock1 to lock5, one name for each node: it works only because every client does the same.", Why: harmless},
	{Article: "A4", What: "The controller creates one RedLock for all requests. Re-entrance goes by thread, so that it still excludes.", Why: harmless},
}

// others are the errata that no experiment here shows.
func others(all []experiments.Experiment) (left []erratum) {
	for _, e := range errata {
		if slices.ContainsFunc(all, func(x experiments.Experiment) bool { return x.ID == e.By && x.Erratum != "" }) {
			continue
		}
		if e.By != "" {
			e.Why = "not yet: " + e.By + " is to come"
		}
		left = append(left, e)
	}
	return left
}
