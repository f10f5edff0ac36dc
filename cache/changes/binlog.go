package changes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Binlog tells the changes that are in the binlog of MySQL or MariaDB. The program mariadb-binlog reads it as a replica does. The server
// needs log_bin, binlog_format=ROW, and a user with REPLICATION SLAVE.
type Binlog struct {
	Host, Port, User, Password string
	Database, Table            string // whose rows are told; the id is the first column
	Server                     uint32 // the id of this reader as a replica, which no other may have: the server ends the older of two
	File                       string // where to begin without a position, such as binlog.000001
}

// Follow implements [Source]. A position is a file and an offset behind a transaction: binlog.000001:4.
func (b Binlog) Follow(ctx context.Context, after string, tell func(Change) error) error {
	file, offset, found := strings.Cut(after, ":")
	if !found {
		file, offset = b.File, "4" // of the first event
	}
	program := exec.CommandContext(ctx, "mariadb-binlog", "--no-defaults", "--read-from-remote-server", "--stop-never",
		"--stop-never-slave-server-id="+strconv.FormatUint(uint64(b.Server), 10),
		"--base64-output=DECODE-ROWS", "--verbose", "--skip-annotate-row-events",
		"--protocol=tcp", "--host="+b.Host, "--port="+b.Port, "--user="+b.User, "--start-position="+offset, file)
	program.Env = append(os.Environ(), "MYSQL_PWD="+b.Password)
	says := new(strings.Builder)
	program.Stderr = says
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		return fmt.Errorf("%w: mariadb-binlog: %w", ErrUnavailable, err)
	}
	told := b.parse(out, file, offset, tell)
	if told != nil {
		_ = program.Process.Kill()
	}
	if err := program.Wait(); told == nil && ctx.Err() == nil { // it ends only when its connection does
		return errors.Join(fmt.Errorf("%w: mariadb-binlog ended: %s", ErrUnavailable, strings.TrimSpace(says.String())), err)
	}
	return errors.Join(told, ctx.Err())
}

var (
	rotates = regexp.MustCompile(`^#.* end_log_pos \d+ .*\tRotate to (\S+)  pos: (\d+)`)
	commits = regexp.MustCompile(`^#.* end_log_pos (\d+) .*\tXid = \d+`)
)

// longestLine has room for a value of any other table: mariadb-binlog prints one in a line.
const longestLine = 1 << 30

// parse reads what mariadb-binlog prints. A row is told when its transaction is complete, because reading can only begin again between
// two transactions.
func (b Binlog) parse(out io.Reader, file, offset string, tell func(Change) error) error {
	table, mine, rows := fmt.Sprintf("`%s`.`%s`", b.Database, b.Table), false, []uint64(nil)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		line := lines.Text()
		if row, is := strings.CutPrefix(line, "### "); is && strings.Contains(row, ".`") {
			mine = strings.HasSuffix(row, table)
		} else if id, is := strings.CutPrefix(line, "###   @1="); is && mine {
			if id, err := strconv.ParseUint(id, 10, 64); err == nil {
				rows = append(rows, id)
			}
		} else if to := rotates.FindStringSubmatch(line); to != nil {
			file, offset = to[1], to[2]
		} else if at := commits.FindStringSubmatch(line); at != nil {
			for i, id := range rows {
				if i == len(rows)-1 {
					offset = at[1]
				}
				if err := tell(Change{id, file + ":" + offset}); err != nil {
					return err
				}
			}
			offset, rows = at[1], nil
		}
	}
	return answered(context.Background(), lines.Err())
}
