package servers

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeBeginning frees the disk from the first n bytes of a file, which are zeros afterwards. Whoever appends to it does not notice.
func freeBeginning(name string, n int64) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, n)
}
