package changes

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"
)

// Binlog tells the changes that are in the binlog of MySQL or MariaDB. It reads as a replica does, without TLS and without compression.
// The server needs log_bin, binlog_format=ROW, and a user with REPLICATION SLAVE and REPLICATION CLIENT. It does not read compressed
// binlogs (log_bin_compress, binlog_transaction_compression), nor statements that may concern the table: they are [ErrUnsure].
//
// Not seen: the writes of a session with sql_log_bin=0, of a server that leaves the database out of its binlog, and of the cascades of
// foreign keys.
type Binlog struct {
	DSN    string // of go-sql-driver/mysql, with the database
	Table  string // whose rows are told; the id is the first column
	Server uint32 // the id of this reader as a replica, which no other may have: the server ends the older of two

	// Sure is called twice a second, while the server that answers new connections is still the one whose changes are told, and all of them
	// are told. Otherwise [Binlog.Follow] ends. nil: nobody asks, and a reader of a server that the address has left reads on.
	Sure func()
}

// ErrNoBinlog says that a server writes no binlog as [Binlog] reads it, or that the user may not read it.
var ErrNoBinlog = errors.New("changes: no binlog")

// Now implements [Source]. [ErrNoBinlog] says what is missing.
func (b Binlog) Now(ctx context.Context) (string, error) {
	end, err := b.end(ctx, "")
	return end.String(), err
}

// Follow implements [Source]. A position is a file, an offset behind a transaction, and when the file was made: binlog.000001:4@1795476511.
// A server that lost its data writes files of the same names, and other changes up to the same offsets.
func (b Binlog) Follow(ctx context.Context, after string, tell func(Change) error) error {
	cfg, err := b.config()
	if err != nil {
		return err
	}
	at, err := parsePosition(after)
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrPosition, after, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	lock := "locklab-changes-" + rand.Text()
	events, end, err := b.dump(ctx, cfg, at, lock)
	if err != nil {
		return answered(ctx, fmt.Errorf("the binlog cannot be read: %w", err))
	}
	defer end()
	r := &reader{database: cfg.DBName, table: b.Table, at: at, tell: tell, tables: make(map[uint64][]column)}
	r.read.Store(&at)
	group.Go(func() error { return r.events(ctx, events) })
	if b.Sure != nil {
		group.Go(func() error { return b.verify(ctx, lock, r) })
	}
	return group.Wait()
}

// events reads until the connection ends.
func (r *reader) events(ctx context.Context, from io.Reader) error {
	for {
		event, err := packet(from)
		if refusal := (*mysql.MySQLError)(nil); errors.As(err, &refusal) && refusal.Number == noSuchEvent {
			return fmt.Errorf("%w: %s: %w", ErrPosition, r.at, err)
		}
		if err != nil {
			return answered(ctx, fmt.Errorf("the binlog ended: %w", err))
		}
		if err := r.event(event); err != nil {
			return err
		}
	}
}

func (b Binlog) config() (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(b.DSN)
	if err != nil {
		return nil, errors.New("changes: the DSN of the database cannot be read")
	}
	cfg.Logger = new(mysql.NopLogger)
	if cfg.TLS != nil && !cfg.AllowFallbackToPlaintext {
		return nil, fmt.Errorf("%w over TLS, which the DSN asks for", ErrNoBinlog)
	}
	cfg.TLS, cfg.TLSConfig = nil, ""
	return cfg, nil
}

// position is where an event begins.
type position struct {
	file   string
	offset uint32
	made   uint32 // when the file was made, in seconds since 1970; 0: not known
}

func (p position) String() string { return fmt.Sprintf("%s:%d@%d", p.file, p.offset, p.made) }

// isAfter compares two positions of one server.
func (p position) isAfter(q position) bool {
	if p.file != q.file { // the names end with a number, which grows longer after 999999
		return len(p.file) > len(q.file) || len(p.file) == len(q.file) && p.file > q.file
	}
	return p.offset > q.offset
}

func parsePosition(text string) (p position, err error) {
	file, rest, _ := strings.Cut(text, ":")
	p.file = file
	if n, err := fmt.Sscanf(rest, "%d@%d", &p.offset, &p.made); n == 0 {
		return p, err
	}
	return p, nil // without the last number that is not known
}

const (
	comBinlogDump = 0x12
	noSuchEvent   = 1236 // ER_MASTER_FATAL_ERROR_READING_BINLOG: no such file, or no event begins there
)

// dump asks for the events from a position on. The driver opens the session, and then this reader has its connection: the driver has no
// function for this command. The session has the lock while it lives. end closes it.
func (b Binlog) dump(ctx context.Context, cfg *mysql.Config, at position, lock string) (events *bufio.Reader, end func(), err error) {
	var wire net.Conn
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var err error
		wire, err = new(net.Dialer).DialContext(ctx, network, addr)
		return wire, err
	}
	if err := cfg.Apply(mysql.EnableCompression(false)); err != nil {
		return nil, nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, nil, err
	}
	session, err := connector.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = wire.Close() })
	end = func() { stop(); _ = session.Close() }
	if err = prepare(ctx, session, lock); err == nil {
		err = wire.SetDeadline(time.Time{}) // the DSN bounds an answer: the next change may come after that
	}
	if err == nil {
		_, err = wire.Write(dumpCommand(at, b.Server))
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return bufio.NewReader(wire), end, nil
}

func prepare(ctx context.Context, session driver.Conn, lock string) error {
	for _, statement := range []string{
		// A reader that does not name the server's checksum is refused. MariaDB knows the second name, MySQL both.
		"SET @source_binlog_checksum = @@global.binlog_checksum, @master_binlog_checksum = @@global.binlog_checksum",
		"SET @mariadb_slave_capability = 4", // otherwise MariaDB leaves events out, also the last one of a file
		"DO GET_LOCK('" + lock + "', 0)",
	} {
		if _, err := session.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

func dumpCommand(at position, server uint32) []byte {
	command := []byte{0, 0, 0, 0, comBinlogDump}
	command = binary.LittleEndian.AppendUint32(command, at.offset)
	command = binary.LittleEndian.AppendUint16(command, 0) // wait for events that are still to come
	command = binary.LittleEndian.AppendUint32(command, server)
	command = append(command, at.file...)
	command[0] = byte(len(command) - 4) // a file's name is short
	return command
}

// packet reads the next event, with a zero before it. A longer one has a row of 16 MiB, which is not read.
func packet(from io.Reader) ([]byte, error) {
	const longest = 1<<24 - 1
	var header [4]byte // three bytes of length, and a number
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	length := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
	whole := make([]byte, length)
	if _, err := io.ReadFull(from, whole); err != nil {
		return nil, err
	}
	switch {
	case length == longest:
		return nil, errors.New("an event has more than 16 MiB")
	case length > 0 && whole[0] == 0:
		return whole[1:], nil
	case length > 9 && whole[0] == 0xff: // a code of two bytes, a state of six, and a sentence
		return nil, &mysql.MySQLError{Number: binary.LittleEndian.Uint16(whole[1:]), Message: string(whole[9:])}
	}
	return nil, errors.New("the server sends no more")
}
