package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// NginxServer is the program of nginx, the balancer of A4 and of docker-compose.yml. It keeps no locks, so it is no [Kind]. Its log tells
// how many bytes an instance got since version 1.15.8.
var NginxServer = Program{Name: "nginx", Debian: "nginx", Homebrew: "nginx", Oldest: "1.15.8", version: func() string {
	said, _ := exec.Command("nginx", "-v").CombinedOutput()
	return versionNumber.FindString(string(said))
}}

// Nginx is nginx before instances. Unlike a [Balancer] it may send a request again.
type Nginx struct {
	*Process
	URL string // http://host:port

	access string // the file with its access log
}

// nginxConf is A4's configuration, in a single process without a file outside of its directory. After the settings of the location come the
// instances, the server's address and more settings. Its paths are relative to the directory, which may have any name.
const nginxConf = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr notice;
events { worker_connections 4096; }
http {
  log_format passed escape=json '{"Request":"$http_x_request_id","To":"$upstream_addr","Bytes":"$upstream_bytes_sent","Status":$status}';
  access_log access.log passed;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream distributed-lock {
%s  }
  server {
    listen %s;
    server_name localhost;
    location / {
      root html;
      index index.html index.htm;
%s      proxy_pass http://distributed-lock;
    }
  }
}
`

// nginxCommand starts nginx with a file descriptor for each connection, where the hard limit allows it: the usual soft limit is 1024.
const nginxCommand = `ulimit -S -n 4096; exec nginx -p "$0" -c "$1"`

// Nginx starts nginx before instances as A4 configures it, and waits until it listens. settings are directives that A4 does not have
// ("proxy_read_timeout 2s", …).
func (s *Stack) Nginx(ctx context.Context, instances []*Instance, settings ...string) (*Nginx, error) {
	if err := NginxServer.Missing(); err != nil {
		return nil, err
	}
	dir, err := s.workdir("nginx")
	if err != nil {
		return nil, err
	}
	n := &Nginx{access: filepath.Join(dir, "access.log")}
	var upstream, location strings.Builder
	for _, i := range instances {
		fmt.Fprintf(&upstream, "    server %s weight=1;\n", strings.TrimPrefix(i.URL, "http://"))
	}
	for _, directive := range settings {
		fmt.Fprintf(&location, "      %s;\n", directive)
	}
	return n, s.atFreeAddr(func(addr string) (err error) {
		conf := filepath.Join(dir, "nginx.conf")
		text := fmt.Sprintf(nginxConf, upstream.String(), addr, location.String())
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return err
		}
		n.URL = "http://" + addr
		if n.Process, err = s.start(command{name: "nginx", argv: []string{"sh", "-c", nginxCommand, dir + "/", conf}}); err != nil {
			return err
		}
		return await(ctx, n.Process, func(context.Context) error { // it names its event method when it has opened its ports
			return n.findOutput(func(line string) bool { return strings.Contains(line, "event method") })
		})
	})
}

// Passed is a request that nginx has answered.
type Passed struct {
	Request string   // its X-Request-Id
	To      []string // the addresses of the instances that got it
	Status  int
}

// loggedRequest is a line of nginx's log. To and Bytes have a part for each instance that nginx has tried, separated by ", ".
type loggedRequest struct {
	Request, To, Bytes string
	Status             int
}

// passed leaves out the instances to which nginx did not get through.
func (r loggedRequest) passed() Passed {
	p := Passed{Request: r.Request, Status: r.Status}
	bytes := strings.Split(r.Bytes, ", ")
	for i, to := range strings.Split(r.To, ", ") {
		if n, _ := strconv.Atoi(bytes[min(i, len(bytes)-1)]); n > 0 {
			p.To = append(p.To, to)
		}
	}
	return p
}

// End ends nginx, and returns what it has answered. It logs a request after the answer, so its log is complete when it has ended.
func (n *Nginx) End() (all []Passed, err error) {
	if err := n.Stop(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(n.access)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var r loggedRequest
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("a line of nginx's log: %w", err)
		}
		all = append(all, r.passed())
	}
	return all, nil
}
