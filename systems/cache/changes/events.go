package changes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync/atomic"
)

// Types of events, as MySQL's "Replication Protocol" and MariaDB's "Binlog Event Types" number them.
const (
	queryEvent    = 2 // a statement; beside rows those of BEGIN and COMMIT, and of what changes tables
	rotateEvent   = 4
	formatEvent   = 15 // the first of each file; the server sends it wherever the reader begins
	xidEvent      = 16 // the end of a transaction
	tableMapEvent = 19
	writeRowsV1   = 23 // V1: MariaDB; V2: MySQL
	updateRowsV1  = 24
	deleteRowsV1  = 25
	writeRowsV2   = 30
	updateRowsV2  = 31
	deleteRowsV2  = 32
)

// unread are the events that have changes in a form that this reader does not know. To leave one out would lose changes.
var unread = map[byte]string{
	18:  "a LOAD DATA as a statement (binlog_format)",
	26:  "a gap that the server knows of",
	39:  "a partial update (binlog_row_value_options)",
	40:  "a compressed transaction (binlog_transaction_compression)",
	165: "a compressed statement (log_bin_compress)",
	166: "compressed rows (log_bin_compress)", 167: "compressed rows (log_bin_compress)", 168: "compressed rows (log_bin_compress)",
}

// Types of columns that have a fixed length, and of those with a length before the value.
var (
	fixedColumns = map[byte]int{1: 1, 2: 2, 3: 4, 8: 8, 9: 3} // TINYINT, SMALLINT, INT, BIGINT, MEDIUMINT
	varChar      = byte(15)
	blob         = byte(252)
)

// column says how long a value is. prefix is the number of bytes of the length before the value; 0: fixed is the length.
type column struct{ fixed, prefix int }

// errTruncated says that an event is shorter than its parts.
var errTruncated = errors.New("changes: an event of the binlog is truncated")

// reader follows the events of a binlog.
type reader struct {
	database, table string
	at              position // behind the last transaction
	tell            func(Change) error

	read   atomic.Pointer[position] // behind the last event
	tables map[uint64][]column      // the numbers that the table has in the binlog
	rows   []uint64                 // ids of the transaction that has not ended yet
}

// eventHeader is the length of time 4, type 1, server 4, length 4, end 4, flags 2.
const eventHeader = 19

// event reads one event, and remembers how far it has come.
func (r *reader) event(event []byte) error {
	if len(event) < eventHeader {
		return errTruncated
	}
	if err := r.change(event); err != nil {
		return err
	}
	at := r.at
	if end := binary.LittleEndian.Uint32(event[13:]); event[4] != rotateEvent && end != 0 { // 0: the server made it for this reader
		at.offset = end
	}
	r.read.Store(&at)
	return nil
}

// change reads what an event changes. A row is told when its transaction is complete, because reading can only begin again between two
// transactions.
func (r *reader) change(event []byte) error {
	kind, end, body := event[4], binary.LittleEndian.Uint32(event[13:]), cursor{rest: withoutChecksum(event)[eventHeader:]}
	if what := unread[kind]; what != "" {
		return fmt.Errorf("%w: the binlog has %s behind %s, which is not read", ErrUnsure, what, r.at)
	}
	switch kind {
	case queryEvent:
		return r.statement(&body, position{r.at.file, end, r.at.made})
	case rotateEvent:
		offset, file := uint32(body.number(8)), string(body.rest)
		if file != r.at.file {
			r.at.made = 0
		}
		r.at.file, r.at.offset = file, offset
	case formatEvent:
		made := binary.LittleEndian.Uint32(event)
		if r.at.made != 0 && r.at.made != made {
			return fmt.Errorf("%w: %s: the server made this file at %d", ErrPosition, r.at, made)
		}
		r.at.made = made
	case tableMapEvent:
		return r.mapTable(&body)
	case writeRowsV1, updateRowsV1, deleteRowsV1, writeRowsV2, updateRowsV2, deleteRowsV2:
		return r.readRows(&body, kind >= writeRowsV2, kind == updateRowsV1 || kind == updateRowsV2)
	case xidEvent:
		return r.commit(position{r.at.file, end, r.at.made})
	}
	return body.err()
}

// statement reads a statement. One that is in the binlog as a text may change any row of the table, as TRUNCATE does, or what rows look
// like, as ALTER TABLE does. Nobody can tell from its text, so each that names the database, or was sent by a session that uses it, is an
// error. A trigger or a cascade that such a statement sets off from another database is not seen.
func (r *reader) statement(body *cursor, end position) error {
	body.skip(8)
	database := body.number(1)
	body.skip(2)
	body.skip(int(body.number(2)))
	uses := string(body.bytes(int(database)))
	body.skip(1)
	text := strings.ToUpper(string(body.rest))
	first, _, _ := strings.Cut(text, " ")
	switch {
	case body.short:
		return errTruncated
	case text == "COMMIT" || text == "ROLLBACK": // of a table without transactions, which keeps its rows
		return r.commit(end)
	case text == "BEGIN" || first == "SAVEPOINT" || first == "ROLLBACK":
		return nil
	case first == "XA" || uses == r.database || strings.Contains(text, strings.ToUpper(r.database)):
		return fmt.Errorf("%w: behind %s the binlog has a statement that may concern %s.%s: %.60s", ErrUnsure, r.at, r.database, r.table, text)
	}
	return nil
}

// withoutChecksum removes the checksum behind an event, where there is one. Each file says whether its events have one, and the server does
// not hold to it in the events that it makes itself. An event without a checksum that ends as if it had one is one of four billion.
func withoutChecksum(event []byte) []byte {
	end := len(event) - crc32.Size
	if end < eventHeader || crc32.ChecksumIEEE(event[:end]) != binary.LittleEndian.Uint32(event[end:]) {
		return event
	}
	return event[:end]
}

// commit tells the rows of a transaction. Only the last one moves the position behind it.
func (r *reader) commit(end position) error {
	for i, id := range r.rows {
		if i == len(r.rows)-1 {
			r.at = end
		}
		if err := r.tell(Change{id, r.at.String()}); err != nil {
			return err
		}
	}
	r.at, r.rows = end, nil
	return nil
}

// mapTable remembers the columns of the table under the number that the rows that follow name.
func (r *reader) mapTable(body *cursor) error {
	number := body.number(6)
	body.skip(2)
	database := string(body.bytes(int(body.number(1))))
	body.skip(1)
	table := string(body.bytes(int(body.number(1))))
	body.skip(1)
	if database != r.database || table != r.table {
		delete(r.tables, number)
		return body.err()
	}
	types := body.bytes(int(body.length()))
	meta := cursor{rest: body.bytes(int(body.length()))}
	columns := make([]column, len(types))
	for i, kind := range types {
		switch fixed := fixedColumns[kind]; {
		case fixed > 0:
			columns[i] = column{fixed: fixed}
		case kind == varChar:
			columns[i] = column{prefix: 1}
			if meta.number(2) > 255 {
				columns[i].prefix = 2
			}
		case kind == blob:
			columns[i] = column{prefix: int(meta.number(1))}
		default:
			return fmt.Errorf("changes: column %d of %s.%s has the type %d, which is not read", i+1, database, table, kind)
		}
	}
	if meta.short || len(columns) == 0 || columns[0].fixed == 0 {
		return fmt.Errorf("changes: the first column of %s.%s is no id", database, table)
	}
	r.tables[number] = columns
	return body.err()
}

// readRows adds the ids of rows. Of an UPDATE the row before and the row after are told: its id may have changed.
func (r *reader) readRows(body *cursor, v2, update bool) error {
	columns, mine := r.tables[body.number(6)]
	body.skip(2)
	if v2 {
		body.skip(int(body.number(2)) - 2) // more data, with its length
	}
	if !mine {
		return body.err()
	}
	count := int(body.length())
	if count != len(columns) {
		return fmt.Errorf("changes: the binlog has rows with %d columns of %s.%s, which has %d", count, r.database, r.table, len(columns))
	}
	images := [][]byte{body.bytes((count + 7) / 8)}
	if update {
		images = append(images, body.bytes((count+7)/8))
	}
	for row := 0; len(body.rest) > 0 && !body.short; row++ {
		r.readRow(body, columns, images[row%len(images)])
	}
	return body.err()
}

// readRow reads the columns that are present. With binlog_row_image=MINIMAL the row after an UPDATE has the id only when it has changed.
func (r *reader) readRow(body *cursor, columns []column, present []byte) {
	if len(present)*8 < len(columns) {
		body.short = true
		return
	}
	there := func(bits []byte, i int) bool { return bits[i/8]&(1<<(i%8)) != 0 }
	values := 0
	for i := range columns {
		if there(present, i) {
			values++
		}
	}
	nulls, value := body.bytes((values+7)/8), 0
	for i, c := range columns {
		if !there(present, i) || body.short {
			continue
		}
		null := there(nulls, value)
		value++
		switch {
		case null:
		case i == 0:
			if id := body.number(c.fixed); !body.short {
				r.rows = append(r.rows, id)
			}
		case c.prefix > 0:
			body.skip(int(body.number(c.prefix)))
		default:
			body.skip(c.fixed)
		}
	}
}

// cursor reads an event from its beginning. Behind its end everything is empty, and short says so.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) err() error {
	if c.short {
		return errTruncated
	}
	return nil
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.short, c.rest = true, nil
		return nil
	}
	read := c.rest[:n]
	c.rest = c.rest[n:]
	return read
}

func (c *cursor) skip(n int) { c.bytes(n) }

// number reads an integer, least byte first.
func (c *cursor) number(n int) (value uint64) {
	for i, b := range c.bytes(n) {
		value |= uint64(b) << (8 * i)
	}
	return value
}

// length reads an integer of the protocol: one byte up to 250; otherwise a byte says how many follow.
func (c *cursor) length() uint64 {
	switch first := c.number(1); first {
	case 252:
		return c.number(2)
	case 253:
		return c.number(3)
	case 254:
		return c.number(8)
	default:
		return first
	}
}
