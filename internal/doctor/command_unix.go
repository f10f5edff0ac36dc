//go:build unix

package doctor

import (
	"os/exec"
	"syscall"
)

// together makes the end of a command the end of what it started, too: docker starts its plugins.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
