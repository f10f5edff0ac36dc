//go:build unix

package servers_test

import (
	"os"
	"os/exec"
	"testing"

	"locklab/lab/testenv"
)

// Debian installs nginx in /usr/sbin, which is not on a user's PATH. It is found and started all the same.
func TestNginxIsStartedWithoutRootsPath(t *testing.T) {
	testenv.Needs(t, testenv.Nginx)
	this, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/sbin/nginx"); err != nil {
		testenv.Skip(t, "nginx is installed somewhere else")
	}
	test := exec.CommandContext(t.Context(), this, "-test.run=^TestNginxSendsOnlyAGETAgain$")
	test.Env = append(os.Environ(), "PATH=/usr/bin:/bin", "LAB_REQUIRE=nginx")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
