package main

import (
	"cmp"
	"net"
	"os"
	"runtime"

	"github.com/cli/browser"
)

// hasScreen reports whether a browser that this program opens can be seen: on Linux a desktop says where its screen is.
func hasScreen() bool {
	return runtime.GOOS != "linux" || cmp.Or(os.Getenv("DISPLAY"), os.Getenv("WAYLAND_DISPLAY"), os.Getenv("WSL_DISTRO_NAME")) != ""
}

// openBrowser opens an address with the browser of the user, if there is a screen. It does not wait for the browser, and says an error.
func openBrowser(std streams, url string) {
	if !hasScreen() {
		return
	}
	browser.Stdout, browser.Stderr = std.err, std.err
	go func() {
		if err := browser.OpenURL(url); err != nil {
			std.say("No browser was opened (" + err.Error() + "): open the address yourself, or start with --no-browser.")
		}
	}()
}

// onThisMachine is an address at which a browser of this machine reaches a listener.
func onThisMachine(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}
