package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	netstat "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// ports checks that each port is free or used by this lab. All that are well are one line; a problem has a line of its own.
func (m machine) ports(ctx context.Context) []Result {
	var problems []Result
	free, ours := 0, 0
	containers, err := m.containers(ctx)
	connections, _ := netstat.ConnectionsWithContext(ctx, "tcp")
	for _, port := range m.lab.Ports {
		user := containers[port.Number]
		switch {
		case !taken(port.Number):
			free++
		case user == thisLab:
			ours++
		default:
			r := Result{Name: "port " + strconv.Itoa(port.Number), Do: "stop it"}
			r.Found = fmt.Sprintf("%s: taken by %s", port.Service, cmp.Or(user, processOn(ctx, port.Number, connections)))
			if err != nil {
				r.Do = seeDocker + ", for it may be a container; if it is not, stop it"
			}
			r.Do += ", or set another port in .env (docs/compose.md)"
			problems = append(problems, r)
		}
	}
	switch {
	case ours > 0:
		return append(ok(fmt.Sprintf("%d used by this lab, which is up; %d free", ours, free)), problems...)
	case free > 0:
		return append(ok(fmt.Sprintf("%d of %d are free", free, len(m.lab.Ports))), problems...)
	}
	return problems
}

// taken reports whether a program answers on the port. Windows also reserves ports on which none answers; those are not seen.
func taken(port int) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

const thisLab = "this lab"

// published finds 8000 in 127.0.0.1:8000->80/tcp, and 6401 and 6404 in 127.0.0.1:6401-6404->6401-6404/tcp.
var published = regexp.MustCompile(`:(\d+)(?:-(\d+))?->`)

// containers maps each published port to its container, or to thisLab.
func (m machine) containers(ctx context.Context) (map[int]string, error) {
	out, err := m.run(ctx, "docker", "ps", "--format", `{{.Label "com.docker.compose.project"}}|{{.Names}}|{{.Ports}}`)
	all := map[int]string{}
	for line := range strings.Lines(out) {
		project, rest, _ := strings.Cut(line, "|")
		name, ports, _ := strings.Cut(rest, "|")
		user := "the container " + name
		if project == m.lab.Project {
			user = thisLab
		}
		for _, port := range published.FindAllStringSubmatch(ports, -1) {
			first, _ := strconv.Atoi(port[1])
			last, _ := strconv.Atoi(cmp.Or(port[2], port[1]))
			for number := first; number <= last; number++ {
				all[number] = user
			}
		}
	}
	return all, err
}

// processOn names the process that listens on a port.
func processOn(ctx context.Context, port int, connections []netstat.ConnectionStat) string {
	for _, c := range connections {
		if c.Status == "LISTEN" && int(c.Laddr.Port) == port && c.Pid != 0 {
			p := process.Process{Pid: c.Pid}
			name, _ := p.NameWithContext(ctx)
			return fmt.Sprintf("%s (pid %d)", name, c.Pid)
		}
	}
	return "a process of another user"
}
