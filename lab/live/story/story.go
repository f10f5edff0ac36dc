// Package story is a lock in seven scenes, which a person who knows nothing of locks can follow. Each scene asks a question, and then runs
// some variants of an experiment.
package story

import (
	"fmt"
	"slices"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/live/stage"
)

// Scene is a situation of the articles, a question, a run, and what it shows.
type Scene struct {
	Title      string
	Text       string // what the program does, and what happens
	Question   string
	Choices    []Choice
	Experiment string
	Variants   []string          // of the experiment that run, the control first
	Called     map[string]string // what the variants do, for people; without an entry a name says it
	Renewed    string            // the variant whose holder renews its lease
	Fix        string            // the variant that prevents the loss; empty: there is none
	Own        []lab.Variant     // that run instead, where those of the experiment have too many requests to be drawn
	Stage      stage.Options     // what its drawing has
	Ends       string            // one sentence
	After      [3]string         // what was lost? a class is asked after the run
	Lost       int               // number of the right one
}

// Choice is an answer to a question.
type Choice struct {
	Text  string
	Wrong string // why it is wrong; empty: it is right
}

// Right is the number of the choice that is right.
func (s Scene) Right() int {
	return slices.IndexFunc(s.Choices, func(of Choice) bool { return of.Wrong == "" })
}

// Visitors open the page at the same moment: few enough for a drawing that shows each.
const Visitors = 20

// two are the clients of most scenes.
var two = []string{"A", "B"}

// Scenes are the scenes in their sequence. Each is an experiment of the lab, with one trial of some of its variants.
var Scenes = []Scene{
	{
		Title: "Counting page views",
		Text: "Two copies (instances) of a program count page views. For each view a copy reads the counter, adds one, and writes it. " +
			"20 people open the page at the same moment.",
		Question: "What does the counter show afterwards?",
		Choices: []Choice{
			{"20: every view is counted.", "A copy can write a number that another request has written already."},
			{"19: two requests rarely meet.", "Most requests read the counter before another request has written it."},
			{"Clearly fewer than 20.", ""},
		},
		Stage:      stage.Options{Copies: 2, Views: Visitors},
		Experiment: "P1", Own: []lab.Variant{
			{Name: "one request at a time", Run: services.PageViews(services.Service{Version: "v1", Users: Visitors, Sequential: true})},
			{Name: "20 simultaneously", Expect: lab.Sometimes, Run: services.PageViews(services.Service{Version: "v1", Users: Visitors})},
		},
		Ends: "Two requests that read the same number write the same number, so one of the two views is lost.",
		After: [3]string{
			"Views: several requests wrote the same number.",
			"Requests: some got no answer.",
			"Nothing: each request wrote a number of its own.",
		},
		Lost: 0,
	},
	{
		Title:    "A mutex in each copy",
		Text:     "Each copy of the program now has a mutex: inside it, one request at a time reads and writes. There are still two copies.",
		Question: "20 people open the page again. Are views lost?",
		Choices: []Choice{
			{"Yes, the two copies together still lose some.", ""},
			{"No: the mutex lets only one request at a time read and write.", "Each copy has its own mutex, which does not stop the other."},
			{"Only when the machine is slow.", "Two copies write simultaneously on each machine; speed changes how often."},
		},
		Stage:      stage.Options{Copies: 2, Views: Visitors, Mutex: true},
		Experiment: "P2", Own: []lab.Variant{
			{Name: "one copy", Run: services.PageViews(services.Service{Version: "v2", Users: Visitors, Instances: 1})},
			{Name: "two copies", Expect: lab.Sometimes, Run: services.PageViews(services.Service{Version: "v2", Users: Visitors})},
		},
		Ends: "A mutex works only inside its own process, so a lock for two processes must be outside of both.",
		After: [3]string{
			"Views that one copy handled at the same moment.",
			"Nothing: all numbers differ.",
			"Views, where both copies wrote the same number.",
		},
		Lost: 2,
	},
	{
		Title: "The holder dies",
		Text: "Redis, a server that stores keys, has the lock now. SETNX creates a key only if it is not there. The client that creates " +
			"it has the lock, and deletes the key when it has finished. A client takes the lock, and its process dies.",
		Question: "When does the next client get the lock?",
		Choices: []Choice{
			{"Never, unless somebody deletes it.", ""},
			{"When its connection ends.", "Redis does not know that a key belongs to a connection."},
			{"After 30 seconds.", "Nobody told Redis a time: SETNX sets no expiry."},
		},
		Stage:      stage.Options{Clients: two},
		Experiment: "L01", Variants: []string{"with an expiry", "SETNX alone"},
		Called: map[string]string{"SETNX alone": "without an expiry"}, Fix: "with an expiry",
		Ends: "A lock needs an expiry, because its holder can die.",
		After: [3]string{
			"An update of the counter.",
			"The lock: without an expiry nobody gets it any more.",
			"Nothing: B got the lock later.",
		},
		Lost: 1,
	},
	{
		Title: "A late unlock",
		Text: "The key has an expiry now. A is slow, and its lease (the time until the expiry) ends. B takes the lock. Then A has " +
			"finished, and deletes the key (DEL) as usual.",
		Question: "Whose lock does A delete?",
		Choices: []Choice{
			{"Nobody's: its own has expired.", "DEL deletes the key, whatever client created it, and the key is there again."},
			{"Its own, a second time.", "Its own lock has ended. The key now has the lock of B."},
			{"B's, and C can get the lock while B works.", ""},
		},
		Stage:      stage.Options{Clients: []string{"A", "B", "C"}},
		Experiment: "L03", Variants: []string{"script", "DEL"},
		Called: map[string]string{"script": "a script that compares the owner"}, Fix: "script",
		Ends: "A release must check, in one step with the deletion, that the lock still belongs to its client.",
		After: [3]string{
			"The update of A.",
			"The update of B or of C: both wrote 2.",
			"Nothing: C was refused.",
		},
		Lost: 1,
	},
	{
		Title:    "Work longer than the lease",
		Text:     "The release compares the owner now. A takes the lock, reads the counter, and works for longer than its lease.",
		Question: "B wants the lock meanwhile. What happens?",
		Choices: []Choice{
			{"B waits until A has finished.", "Redis deletes the key when the lease ends. It does not know that A still works."},
			{"B gets the lock, and one of the two updates is lost.", ""},
			{"A's write is refused by Redis.", "A writes the counter, and Redis does not look at the lock when it writes a counter."},
		},
		Stage: stage.Options{Clients: two}, Renewed: "long work, renewed", Fix: "long work, renewed",
		Experiment: "L05", Variants: []string{"short work", "long work", "long work, renewed"},
		Ends: "A holder that works must renew its lease, and then keeps the lock for as long as it can renew.",
		After: [3]string{
			"Only A's lock: both updates are there.",
			"Nothing: B waited for A.",
			"The lock of A, and an update: A and B both wrote 1.",
		},
		Lost: 2,
	},
	{
		Title: "The master dies",
		Text: "Redis has a replica now, which copies each change of the master and takes its place when it dies. A gets the lock from the " +
			"master. A moment later the master dies, and the replica becomes the new master.",
		Question: "A works on. Can B get the lock from the new master?",
		Choices: []Choice{
			{"Yes, and then both hold it.", ""},
			{"No: the old master had confirmed A's lock.", "It confirms before the replica has the key. The new master has never had it."},
			{"Not before A's lease is over.", "The new master has neither the key nor its lease."},
		},
		Stage:      stage.Options{Clients: two, Replica: true},
		Experiment: "F01", Variants: []string{"no kill", "replication cut, lock taken, killed"},
		Called: map[string]string{"no kill": "the master lives", "replication cut, lock taken, killed": "the master dies"},
		Ends:   "Redis answers before it replicates, so a failover can lose the lock, and then two clients hold it.",
		After: [3]string{
			"The lock, and an update: A and B both wrote 1.",
			"Only the lock: both updates are there.",
			"Nothing: the replica had the key.",
		},
		Lost: 0,
	},
	{
		Title: "The paused holder",
		Text: "A holds a lock that is renewed, and has read the counter. Its process stops for longer than the lease: a long garbage " +
			"collection, a suspended laptop. B gets the lock and counts. Then A goes on, and writes. Each grant of the lock has a number, " +
			"its token, larger than the one before. Real tokens are long, so the drawing calls A's 1 and B's 2.",
		Question: "Can a lock prevent A's write?",
		Choices: []Choice{
			{"Yes, if it is renewed.", "A process that is stopped renews nothing."},
			{"No. The counter itself must refuse it.", ""},
			{"Yes, if A asks whether it still has the lock.", "A can be paused between the answer and the write."},
		},
		Experiment: "L11", Variants: []string{"no pause", "paused", "paused, token checked"},
		Called: map[string]string{"paused": "tokens ignored", "paused, token checked": "tokens compared"},
		Stage:  stage.Options{Clients: two, Tokens: true}, Fix: "paused, token checked",
		Ends: "No lock can prevent a late write, but the counter can: it refuses a token older than the newest that has read it.",
		After: [3]string{
			"B's update: A wrote the same number over it.",
			"A's update: the counter refused it.",
			"Nothing: A asked for its lock before it wrote.",
		},
	},
}

// In is the experiment of the scene, with the variants that the scene runs. An error says what the catalogue lacks.
func (s Scene) In(c lab.Catalogue) (lab.Experiment, error) {
	e, err := c.Find(s.Experiment)
	if err != nil {
		return e, err
	}
	variants := slices.Clone(s.Own)
	for _, name := range s.Variants {
		at := slices.IndexFunc(e.Variants, func(v lab.Variant) bool { return v.Name == name })
		if at < 0 {
			return e, fmt.Errorf("%s has no variant %q", e.ID, name)
		}
		variants = append(variants, e.Variants[at])
	}
	e.Variants = variants
	return e, nil
}
