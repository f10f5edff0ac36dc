package servers

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// takedown is a process that takes the containers of a project down when it is stopped, and when this program ends for any reason: then
// its input ends.
type takedown struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *strings.Builder
}

// takedownScript ignores what stops this program. It repeats the command, because Docker may still create something after the first.
const takedownScript = `trap '' INT TERM HUP
cat >/dev/null
for attempt in 1 2 3; do
	said=$(docker compose --project-name "$1" down --timeout 5 2>&1); status=$?
	sleep 1
done
rm -rf "$2"
[ $status = 0 ] || echo "the containers of $1 are still there: docker compose --project-name $1 down: $said"
exit $status`

func (s *Stack) takedown(project string) (*takedown, error) {
	t := &takedown{process: exec.Command("sh", "-c", takedownScript, "sh", project, s.dir), out: new(strings.Builder)}
	t.process.Stdout = t.out
	t.process.SysProcAttr = OwnProcessGroup()
	var err error
	if t.in, err = t.process.StdinPipe(); err == nil {
		err = t.process.Start()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Stop takes the containers down, and returns when they are gone.
func (t *takedown) Stop() error {
	_ = t.in.Close()
	if err := t.process.Wait(); err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(t.out.String()), err)
	}
	return nil
}
