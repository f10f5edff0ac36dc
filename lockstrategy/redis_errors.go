package lockstrategy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// unavailable says that a request got no usable answer.
func unavailable(what, key string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %s: %s is no lock of this kind, but perhaps another library's, or its token counter %s is no number: "+
			"delete what is wrong: %w", ErrUnavailable, what, key, tokenKey(key), err)
	}
	source := map[string]string{"acquire": acquireSource, "renew": renewSource, "release": releaseSource}[what]
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, named(source, replies.Explain(err)))
}

// mayHaveRun is [replies.MayHaveRun]. A server that hangs is sent nothing.
func mayHaveRun(err error) bool { return replies.MayHaveRun(err) && !errors.Is(err, errHanging) }

var (
	scriptLine = regexp.MustCompile(`user_script: ?(\d+)`)
	scriptCall = regexp.MustCompile(`redis\.p?call\(['"](\w+)`)
)

// named puts the command before the error of a script: Redis often says only on which line it stands.
func named(source string, err error) error {
	if err == nil || source == "" {
		return err
	}
	at := scriptLine.FindStringSubmatch(err.Error())
	if at == nil {
		return err
	}
	line, _ := strconv.Atoi(at[1])
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return err
	}
	var commands []string
	for _, call := range scriptCall.FindAllStringSubmatch(lines[line-1], -1) {
		commands = append(commands, strings.ToUpper(call[1]))
	}
	if len(commands) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(commands, " or "), err)
}
