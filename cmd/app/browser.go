package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"

	"locklab/lab/servers"
)

// openers lists the commands that open a URL on each operating system. The first one found is used.
var openers = map[string][][]string{
	"linux":   {{"xdg-open"}, {"wslview"}},
	"darwin":  {{"open"}},
	"windows": {{"rundll32", "url.dll,FileProtocolHandler"}},
}

// hasScreen reports whether the user would see a browser. On Linux a desktop sets one of three variables.
func hasScreen() bool {
	return runtime.GOOS != "linux" || cmp.Or(os.Getenv("DISPLAY"), os.Getenv("WAYLAND_DISPLAY"), os.Getenv("WSL_DISTRO_NAME")) != ""
}

// openBrowser opens url in the user's browser if there is a screen. It returns immediately and prints an error instead of returning it.
func openBrowser(ctx context.Context, std streams, url string) {
	if !hasScreen() {
		return
	}
	failed := fmt.Errorf("no known command on %s", runtime.GOOS)
	for _, opener := range openers[runtime.GOOS] {
		if _, failed = exec.LookPath(opener[0]); failed != nil {
			continue
		}
		command := exec.CommandContext(context.WithoutCancel(ctx), opener[0], append(opener[1:], url)...)
		command.SysProcAttr = servers.OwnProcessGroup() // Ctrl-C must not close the browser
		if failed = command.Start(); failed == nil {
			go func() { _ = command.Wait() }()
			return
		}
	}
	std.say("Cannot open a browser (" + failed.Error() + "): open " + url + " yourself, or use --no-browser.")
}

// localAddr returns the address at which this machine reaches a server that listens on addr.
func localAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}
