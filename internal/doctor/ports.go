package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"
)

// ports checks that each can be taken, or is by this lab. One line tells of all that are well.
func (m machine) ports(ctx context.Context) []Result {
	taken := takenOf(ctx, m.lab.Ports)
	if len(taken) == 0 {
		return ok(fmt.Sprintf("all %d are free", len(m.lab.Ports)))
	}
	ours, docker := 0, 0
	var problems []Result
	holders := m.holders(ctx)
	for _, port := range m.lab.Ports {
		err := taken[port]
		switch {
		case err == nil:
		case holders.isLab(port.Number):
			ours++
		case holders.isDocker(port.Number):
			docker++
		default:
			problems = append(problems, portProblem(port, err, holders.of(port.Number)))
		}
	}
	if docker > 0 {
		problems = append(problem(fmt.Sprintf("%d are held by containers, and docker does not say whose", docker), seeDocker), problems...)
	}
	return append(m.portsAreWell(ours, len(taken)), problems...)
}

func (m machine) portsAreWell(ours, taken int) []Result {
	free := len(m.lab.Ports) - taken
	switch {
	case ours == 0 && free == 0:
		return nil
	case ours == 0:
		return ok(fmt.Sprintf("%d of %d are free", free, len(m.lab.Ports)))
	}
	return ok(fmt.Sprintf("%d held by this lab, which is up; %d free", ours, free))
}

func portProblem(port Port, err error, holder string) Result {
	r := Result{Name: "port " + strconv.Itoa(port.Number), Do: "stop it"}
	r.Found = fmt.Sprintf("%s: taken by %s", port.Service, holder)
	if errors.Is(err, os.ErrPermission) {
		r.Found = fmt.Sprintf("%s: reserved by Windows", port.Service)
		r.Do = "netsh interface ipv4 show excludedportrange tcp shows what is"
	}
	if port.Variable != "" {
		r.Do += fmt.Sprintf(", or set %s in .env", port.Variable)
	}
	return r
}

// takenOf says why which ports cannot be taken. It looks twice: another doctor may have one for a moment.
func takenOf(ctx context.Context, ports []Port) map[Port]error {
	var again []Port
	for _, port := range ports {
		if take(ctx, port) != nil {
			again = append(again, port)
		}
	}
	taken := map[Port]error{}
	if len(again) == 0 {
		return taken
	}
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
	for _, port := range again {
		if err := take(ctx, port); err != nil {
			taken[port] = err
		}
	}
	return taken
}

// take takes the port for a moment. macOS and Windows allow that although another program listens
// on all addresses: so it also calls.
func take(ctx context.Context, port Port) error {
	host := port.Host
	if host == "" {
		host = "0.0.0.0"
	}
	address := net.JoinHostPort(host, strconv.Itoa(port.Number))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		listener.Close()
		return answers(ctx, port)
	}
	if errors.Is(err, os.ErrPermission) && runtime.GOOS != "windows" {
		return answers(ctx, port) // a port for root, as the engine is
	}
	return err
}

// answers returns an error when somebody takes a call on the port.
func answers(ctx context.Context, port Port) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Number)))
	if err != nil {
		return nil
	}
	defer conn.Close()
	if conn.LocalAddr().String() == conn.RemoteAddr().String() {
		return nil // it met itself
	}
	return errors.New("somebody answers")
}
