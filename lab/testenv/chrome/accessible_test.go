package chrome

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// The file of another project is the one that npm has, byte for byte.
func TestAxeIsTheReleasedFile(t *testing.T) {
	const released = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c" // axe-core 4.14.1, axe.min.js
	if is := fmt.Sprintf("%x", sha256.Sum256([]byte(axe))); is != released {
		t.Errorf("axe.min.js has the checksum %s", is)
	}
}
