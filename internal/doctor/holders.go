package doctor

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	netstat "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// holders knows who has which port: containers, by what the engine says, and processes.
type holders struct {
	ctx        context.Context
	asked      bool           // the engine answered
	lab        map[int]bool   // of this lab's own project
	containers map[int]string // of others
	processes  map[int]int32  // pids; 0: hidden from this user
}

// holders asks for all at once. What cannot be asked is not known.
func (m machine) holders(ctx context.Context) holders {
	h := holders{ctx: ctx, lab: map[int]bool{}, containers: map[int]string{}, processes: map[int]int32{}}
	got, err := m.run(ctx, "docker", "ps", "--format", `{{.Label "com.docker.compose.project"}}|{{.Names}}|{{.Ports}}`)
	if h.asked = err == nil; h.asked {
		h.readContainers(got.out, m.lab.Project)
	}
	connections, _ := netstat.ConnectionsWithContext(ctx, "tcp")
	for _, c := range connections {
		if ip := net.ParseIP(c.Laddr.IP); c.Status == "LISTEN" && (c.Laddr.IP == "*" || ip.IsUnspecified() || ip.IsLoopback()) {
			h.processes[int(c.Laddr.Port)] = c.Pid
		}
	}
	return h
}

// published finds 8000 in 127.0.0.1:8000->80/tcp, and 6401 and 6404 in 127.0.0.1:6401-6404->6401-6404/tcp.
var published = regexp.MustCompile(`:(\d+)(?:-(\d+))?->`)

// readContainers reads lines of project, name and ports.
func (h holders) readContainers(lines, project string) {
	for line := range strings.Lines(lines) {
		parts := strings.SplitN(strings.TrimSpace(line), "|", 3)
		if len(parts) != 3 {
			continue
		}
		for _, ports := range published.FindAllStringSubmatch(parts[2], -1) {
			first, _ := strconv.Atoi(ports[1])
			last, err := strconv.Atoi(ports[2])
			if err != nil {
				last = first
			}
			for port := first; port <= last; port++ {
				if h.lab[port] = parts[0] == project && project != ""; !h.lab[port] {
					h.containers[port] = parts[1]
				}
			}
		}
	}
}

func (h holders) isLab(port int) bool { return h.lab[port] }

// isDocker reports whether a container has the port and the engine does not say which.
func (h holders) isDocker(port int) bool {
	return !h.asked && ofDocker(h.name(h.processes[port]))
}

// ofDocker knows the programs that hold ports for containers: on Linux, macOS and Windows.
func ofDocker(program string) bool {
	for _, its := range []string{"docker-proxy", "com.docker", "rootlessport", "wslrelay"} {
		if strings.HasPrefix(program, its) {
			return true
		}
	}
	return false
}

// of names who has the port.
func (h holders) of(port int) string {
	if name, is := h.containers[port]; is {
		return "the container " + name
	}
	pid := h.processes[port]
	name := h.name(pid)
	switch {
	case pid == 0:
		return "a process that is not seen: another user's, or gone by now"
	case name == "":
		return fmt.Sprintf("pid %d", pid)
	}
	return fmt.Sprintf("%s (pid %d)", name, pid)
}

// name is that of a process, "" where it is not known.
func (h holders) name(pid int32) string {
	if pid == 0 {
		return ""
	}
	p, err := process.NewProcessWithContext(h.ctx, pid)
	if err != nil {
		return ""
	}
	name, _ := p.NameWithContext(h.ctx)
	return name
}
