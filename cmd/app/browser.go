package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"

	"locklab/stack"
)

// openers are the programs that open an address, by operating system; the first that is there does it.
var openers = map[string][][]string{
	"linux":   {{"xdg-open"}, {"wslview"}},
	"darwin":  {{"open"}},
	"windows": {{"rundll32", "url.dll,FileProtocolHandler"}},
}

// hasScreen reports whether a browser that this program opens can be seen: on Linux a desktop says where its screen is.
func hasScreen() bool {
	return runtime.GOOS != "linux" || cmp.Or(os.Getenv("DISPLAY"), os.Getenv("WAYLAND_DISPLAY"), os.Getenv("WSL_DISTRO_NAME")) != ""
}

// openBrowser opens an address with the browser of the user, if there is a screen. The browser is in a process group of its own: Ctrl-C
// must not end it. It says an error, and waits for nothing.
func openBrowser(ctx context.Context, std streams, url string) {
	if !hasScreen() {
		return
	}
	failed := fmt.Errorf("there is no program for that on %s", runtime.GOOS)
	for _, opener := range openers[runtime.GOOS] {
		if _, failed = exec.LookPath(opener[0]); failed != nil {
			continue
		}
		command := exec.CommandContext(context.WithoutCancel(ctx), opener[0], append(opener[1:], url)...)
		command.SysProcAttr = stack.OwnProcessGroup()
		if failed = command.Start(); failed == nil {
			go func() { _ = command.Wait() }()
			return
		}
	}
	std.say("No browser was opened (" + failed.Error() + "): open the address yourself, or start with --no-browser.")
}

// onThisMachine is an address at which a browser of this machine reaches a listener.
func onThisMachine(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}
