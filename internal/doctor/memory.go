package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"
)

// What the lab needs.
const (
	leastMemory = 2 * oneGiB
	leastDisk   = 3 * oneGiB
)

// engine is what `docker info` says of it.
type engine struct {
	MemTotal      uint64
	DockerRootDir string
}

// engine asks it; the zero engine did not answer. `docker info` exits with 0 although it has none.
func (m machine) engine(ctx context.Context) engine {
	got, _ := m.run(ctx, "docker", "info", "--format", "{{json .}}")
	var is engine
	_ = json.Unmarshal([]byte(got.out), &is)
	return is
}

// memory checks what the engine has: Docker Desktop's machine has less than this one. What is
// available there is not known; where the engine runs on this machine it is.
func (m machine) memory(ctx context.Context) []Result {
	here, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return problem("not known: "+err.Error(), fmt.Sprintf("see yourself that %s are available", gib(leastMemory)))
	}
	return judgeMemory(m.engine(ctx).MemTotal, here.Total, here.Available)
}

func judgeMemory(ofEngine, total, available uint64) []Result {
	const close = 64 << 20 // what two ways to count the same may differ by
	if ofEngine != 0 && ofEngine+close < total {
		found := fmt.Sprintf("Docker has %s of this machine's %s", gib(ofEngine), gib(total))
		if ofEngine < leastMemory {
			return problem(found, "give Docker 4 GiB: Docker Desktop, Settings, Resources; in WSL: memory=4GB in .wslconfig")
		}
		return ok(found)
	}
	found := fmt.Sprintf("%s, %s of it available", gib(total), gib(available))
	if available < leastMemory {
		return problem(found, fmt.Sprintf("close programs until %s are available", gib(leastMemory)))
	}
	return ok(found)
}

// disk checks where Docker keeps its images, as far as this machine sees that place. How much Docker
// Desktop's disk may still grow is not known.
func (m machine) disk(ctx context.Context) []Result {
	place := m.engine(ctx).DockerRootDir
	if _, err := os.Stat(place); place == "" || err != nil {
		place = m.lab.Dir
		if absolute, err := filepath.Abs(place); err == nil {
			place = absolute
		}
	}
	usage, err := disk.UsageWithContext(ctx, place)
	if err != nil {
		return problem(fmt.Sprintf("free space in %s is not known: %s", place, err), fmt.Sprintf("see yourself that %s are free", gib(leastDisk)))
	}
	found := fmt.Sprintf("%s free in %s", gib(usage.Free), place)
	if usage.Free < leastDisk {
		return problem(found, fmt.Sprintf("free %s; docker system df shows what Docker keeps, docker system prune removes what nobody uses", gib(leastDisk)))
	}
	return ok(found)
}
