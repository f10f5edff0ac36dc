package compose

import (
	"fmt"
	"slices"
	"strings"
)

// Addresses lists where the services listen, by name. Servers that differ by their last digit, such as redis-1 to redis-4, are one line.
func (p *Project) Addresses() (lines [][2]string) {
	nginx := "http://" + p.Published("nginx")
	lines = append(lines, [2]string{"nginx", nginx})
	if p.Files.Services["page"].Starts() {
		lines = append(lines, [2]string{"live page", nginx + "/ui/"})
	}
	for _, service := range []string{"app-1", "app-2"} {
		lines = append(lines, [2]string{service, "http://" + p.Published(service)})
	}
	first, last := map[string]Port{}, map[string]Port{}
	var names []string
	for _, port := range p.Ports() {
		if slices.Contains([]string{"nginx", "page", "app-1", "app-2"}, port.Service) {
			continue
		}
		name := strings.TrimRight(port.Service, "-0123456789")
		if _, known := first[name]; !known {
			first[name], names = port, append(names, name)
		}
		last[name] = port
	}
	slices.Sort(names)
	for _, name := range names {
		address := fmt.Sprintf("%s:%d", first[name].Host, first[name].Number)
		if n := last[name].Number; n != first[name].Number {
			address += fmt.Sprintf(" to %d", n)
		}
		lines = append(lines, [2]string{name, address})
	}
	return lines
}
