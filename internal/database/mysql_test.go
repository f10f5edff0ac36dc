package database_test

import (
	"testing"

	"locklab/lab/testenv"
)

// Two instances work on one server, whatever its default character set is, and whatever collation a DSN names. A statement that waits for a
// row ends with its caller.
func TestTwoInstancesOnMariaDB(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--character-set-server=latin1")
	if err != nil {
		t.Fatal(err)
	}
	where := createForUser(t, server, "lab")
	one, two := newInstance(t, where), newInstance(t, where+"?collation=utf8mb4_bin")
	testTwoInstances(t, one, two)
	if wait := queryText(t, two.orders.DB, "SELECT @@SESSION.innodb_lock_wait_timeout"); wait != "5" {
		t.Errorf("a statement waits for a row for %s s", wait)
	}
}
