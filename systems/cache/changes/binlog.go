package changes

import (
	"bufio"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// Binlog tells the changes that are in the binlog of MySQL or MariaDB. It reads as a replica does, without TLS and without compression.
// The server needs log_bin, binlog_format=ROW, and a user with REPLICATION SLAVE and REPLICATION CLIENT. The tables must be
// transactional. It does not read compressed binlogs (log_bin_compress, binlog_transaction_compression): they are an error.
type Binlog struct {
	DSN    string // of go-sql-driver/mysql, with the database
	Table  string // whose rows are told; the id is the first column
	Server uint32 // the id of this reader as a replica, which no other may have: the server ends the older of two
	File   string // where to begin without a position, such as binlog.000001; [BinlogFile] returns the present one
}

// ErrNoBinlog says that a server writes no binlog as [Binlog] reads it, or that the user may not read it.
var ErrNoBinlog = errors.New("changes: no binlog")

// BinlogFile returns the file that the server writes to at the moment. [ErrNoBinlog] says what is missing.
func BinlogFile(ctx context.Context, db *gorm.DB) (string, error) {
	const settings = "start the database with --log-bin --binlog-format=ROW --server-id=1"
	var files []struct {
		Name string `gorm:"column:Log_name"`
	}
	err := db.WithContext(ctx).Raw("SHOW BINARY LOGS").Scan(&files).Error
	if refusal := (*mysql.MySQLError)(nil); errors.As(err, &refusal) {
		return "", fmt.Errorf("%w: %w: %s; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* lets the user read it", ErrNoBinlog, err, settings)
	}
	var format struct{ Value string }
	if err == nil {
		err = db.WithContext(ctx).Raw("SHOW VARIABLES LIKE 'binlog_format'").Scan(&format).Error
	}
	switch {
	case err != nil:
		return "", answered(ctx, err)
	case format.Value != "" && format.Value != "ROW":
		return "", fmt.Errorf("%w: the database has binlog_format=%s: %s", ErrNoBinlog, format.Value, settings)
	case len(files) == 0:
		return "", fmt.Errorf("%w: the database lists no file: %s", ErrNoBinlog, settings)
	}
	return files[len(files)-1].Name, nil
}

// Follow implements [Source]. A position is a file, an offset behind a transaction, and when the file was made: binlog.000001:4@1795476511.
// A server that lost its data writes files of the same names, and other changes up to the same offsets.
func (b Binlog) Follow(ctx context.Context, after string, tell func(Change) error) error {
	cfg, err := mysql.ParseDSN(b.DSN)
	if err != nil {
		return errors.New("changes: the DSN of the database cannot be read")
	}
	at := position{file: b.File, offset: firstEvent}
	if after != "" {
		if at, err = parsePosition(after); err != nil {
			return fmt.Errorf("%w: %q: %w", ErrPosition, after, err)
		}
	}
	events, end, err := b.dump(ctx, cfg, at)
	if err != nil {
		return answered(ctx, fmt.Errorf("the binlog cannot be read: %w", err))
	}
	defer end()
	r := reader{database: cfg.DBName, table: b.Table, at: at, tell: tell, tables: make(map[uint64][]column)}
	for {
		event, err := packet(events)
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

// position is where an event begins.
type position struct {
	file   string
	offset uint32
	made   uint32 // when the file was made, in seconds since 1970; 0: not known
}

func (p position) String() string { return fmt.Sprintf("%s:%d@%d", p.file, p.offset, p.made) }

func parsePosition(text string) (p position, err error) {
	file, rest, _ := strings.Cut(text, ":")
	p.file = file
	if n, err := fmt.Sscanf(rest, "%d@%d", &p.offset, &p.made); n == 0 {
		return p, err
	}
	return p, nil // without the last number that is not known
}

const (
	firstEvent    = 4 // offset of the first event of a file
	comBinlogDump = 0x12
	noSuchEvent   = 1236 // ER_MASTER_FATAL_ERROR_READING_BINLOG: no such file, or no event begins there
)

// dump asks for the events from a position on. The driver opens the session, and then this reader has its connection: the driver has no
// function for this command. end closes it.
func (b Binlog) dump(ctx context.Context, cfg *mysql.Config, at position) (events *bufio.Reader, end func(), err error) {
	var wire net.Conn
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var err error
		wire, err = new(net.Dialer).DialContext(ctx, network, addr)
		return wire, err
	}
	cfg.TLSConfig, cfg.Logger = "", new(mysql.NopLogger)
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
	// A reader that does not name the server's checksum is refused. MariaDB knows the second name, MySQL both.
	const checksum = "SET @source_binlog_checksum = @@global.binlog_checksum, @master_binlog_checksum = @@global.binlog_checksum"
	if _, err := session.(driver.ExecerContext).ExecContext(ctx, checksum, nil); err != nil {
		end()
		return nil, nil, err
	}
	command := []byte{0, 0, 0, 0, comBinlogDump}
	command = binary.LittleEndian.AppendUint32(command, at.offset)
	command = binary.LittleEndian.AppendUint16(command, 0) // wait for events that are still to come
	command = binary.LittleEndian.AppendUint32(command, b.Server)
	command = append(command, at.file...)
	command[0] = byte(len(command) - 4) // a file's name is short
	if _, err := wire.Write(command); err != nil {
		end()
		return nil, nil, err
	}
	return bufio.NewReader(wire), end, nil
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
