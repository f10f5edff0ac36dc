package sqllock

import (
	"database/sql"
	"errors"
	"strings"

	"gorm.io/gorm"
)

// longestName is the longest name of a lock in a database, in bytes.
const longestName = 255

// The statements of [Lock]. They know @key, @owner and @lease (microseconds). A dialect replaces the words in capitals that
// are not SQL. CLOCK is the database's time in microseconds since 1970, and STEP the same since 2000 in steps of 32 µs, from 1. They depend
// on no time zone. OLDER is the largest number that is not of an older version, whose numbers were microseconds.
//
// The table's name and columns are an interface: other programs may use the same locks.
const (
	createTable = `
CREATE TABLE IF NOT EXISTS locklab_locks (name TEXTS PRIMARY KEY, owner TEXTS NOT NULL, expires BIGINT NOT NULL, token BIGINT NOT NULL)`
	takeRow = `
UPDATE locklab_locks
   SET owner = @owner, expires = CLOCK + @lease, token = TOKEN(CASE WHEN token BETWEEN STEP AND OLDER THEN token + 1 ELSE STEP END)
 WHERE name = @key AND (expires <= CLOCK OR owner = @owner)`
	insertRow = `
INSERT UNLESS_THERE INTO locklab_locks (name, owner, expires, token)
VALUES (@key, @owner, CLOCK + @lease, TOKEN(STEP))`
	renewRow   = `UPDATE locklab_locks SET expires = CLOCK + @lease WHERE name = @key AND owner = @owner`
	mineRow    = `SELECT COUNT(*) FROM locklab_locks WHERE name = @key AND owner = @owner`
	heldRow    = `SELECT COUNT(*) FROM locklab_locks WHERE name = @key AND expires > CLOCK`
	releaseRow = `UPDATE locklab_locks SET owner = '', expires = 0 WHERE name = @key AND owner = @owner`
)

// dialect holds the statements for one kind of database.
type dialect struct {
	create, take, insert, renew, mine, held, release string

	// ask executes take or insert, and returns the number of the grant, or 0 if no row was written.
	ask func(db *gorm.DB, statement string, values map[string]any) (number uint64, err error)
}

var dialects = map[string]dialect{
	// TEXTS are compared byte by byte: MySQL's texts are not, by default.
	"mysql": newDialect(askMySQL, "",
		"TEXTS", "VARBINARY(255)", "CLOCK", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		"STEP", "(TIMESTAMPDIFF(MICROSECOND, '2000-01-01', UTC_TIMESTAMP(6)) DIV 32 + 1)",
		"OLDER", "35184372088831", "UNLESS_THERE", "IGNORE", "TOKEN(", "LAST_INSERT_ID("),
	"sqlite": newDialect(askSQLite, " RETURNING token",
		"TEXTS", "TEXT", "CLOCK", "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
		"STEP", "(CAST((julianday('now') - 2451544.5) * 2700000000 AS INTEGER) + 1)",
		"OLDER", "35184372088831", "UNLESS_THERE", "OR IGNORE", "TOKEN(", "("),
}

func newDialect(
	ask func(*gorm.DB, string, map[string]any) (uint64, error), returning string, words ...string,
) dialect {
	in := strings.NewReplacer(words...).Replace
	return dialect{
		create: in(createTable), take: in(takeRow) + returning, insert: in(insertRow) + returning,
		renew: in(renewRow), mine: in(mineRow), held: in(heldRow), release: in(releaseRow), ask: ask,
	}
}

// askMySQL reads the number from the answer to the statement, where LAST_INSERT_ID has put it: MySQL has no RETURNING.
func askMySQL(db *gorm.DB, statement string, values map[string]any) (uint64, error) {
	result := gorm.WithResult()
	if err := db.Clauses(result).Exec(statement, values).Error; err != nil || result.RowsAffected == 0 {
		return 0, err
	}
	number, err := result.Result.LastInsertId()
	return uint64(number), err
}

func askSQLite(db *gorm.DB, statement string, values map[string]any) (number uint64, err error) {
	err = db.Raw(statement, values).Row().Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return number, err
}
