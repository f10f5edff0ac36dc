//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// exchange is a request and its expected response. ORDER stands for the id of the order in an earlier response.
type exchange struct {
	request, body string
	status        int
	want          string
}

// lostReplies are requests that get 503 although their work is done, because the server's reply to command is lost. A command "a … b" is
// the first b after an a. then has the requests that docs/http-api.md tells the client to send.
var lostReplies = map[string]struct {
	server, command string
	before          []exchange
	lost            exchange
	then            []exchange
}{
	"a view": {
		"redis", "\r\nset\r\n",
		[]exchange{{"PUT /pview", `{"value": 5}`, 200, ""}},
		exchange{"POST /v1/pview", "", 503, "GET /pview"},
		[]exchange{{"GET /pview", "", 200, `"value":6`}},
	},
	"the counter": {
		"redis", "\r\nevalsha\r\n",
		[]exchange{{"PUT /pview", `{"value": 5}`, 200, ""}},
		exchange{"PUT /pview", `{"value": 7}`, 503, ""},
		[]exchange{{"GET /pview", "", 200, `"value":7`}, {"PUT /pview", `{"value": 7}`, 200, `"value":7`}},
	},
	"an order": {
		"database", "INSERT INTO `orders`", nil,
		exchange{"POST /orders", "", 503, ""},
		[]exchange{{"POST /orders", "", 201, `"status":"open"`}},
	},
	"a grab": {
		"database", "orders … COMMIT",
		[]exchange{{"POST /orders", "", 201, ""}},
		exchange{"POST /v0/orders/ORDER/grab?driver=12", "", 503, "repeat"},
		[]exchange{
			{"POST /v0/orders/ORDER/grab?driver=13", "", 409, `"winner":12`},
			{"POST /v0/orders/ORDER/grab?driver=12", "", 200, `"again":true`},
		},
	},
	"a purchase": {
		"database", "shop_orders … COMMIT",
		[]exchange{{"PUT /shop/items/1", `{"stock": 3}`, 200, ""}},
		exchange{"POST /v0/shop/items/1/buy?buyer=7", "", 503, "Idempotency-Key"},
		[]exchange{
			{"POST /v0/shop/items/1/buy?buyer=7", "", 201, `"sold":true`},
			{"GET /shop/items/1", "", 200, `"stock":2,"sold":1,"oversold":0,"unaccounted":0,"orders":1,`},
		},
	},
	"a payment": {
		"database", "shop_orders … COMMIT",
		[]exchange{{"PUT /shop/items/2", `{"stock": 3}`, 200, ""}, {"POST /v0/shop/items/2/buy?buyer=7", "", 201, ""}},
		exchange{"POST /v0/shop/orders/ORDER/pay", "", 503, "GET /shop/orders/ORDER"},
		[]exchange{
			{"GET /shop/orders/ORDER", "", 200, `"state":"paid","changes":["paid"],"parcels":0`},
			{"POST /v0/shop/orders/ORDER/pay", "", 409, "is paid"},
			{"POST /shop/parcels", "", 200, `"messages":1`},
			{"GET /shop/orders/ORDER", "", 200, `"parcels":1`},
		},
	},
	"an item in a cache": {
		"database", "items",
		[]exchange{{"PUT /c1/items/1", `{"text": "old"}`, 200, ""}, {"GET /c1/items/1", "", 200, `"text":"old"`}},
		exchange{"PUT /c1/items/1", `{"text": "new"}`, 503, "repeat"},
		[]exchange{{"PUT /c1/items/1", `{"text": "new"}`, 200, ""}, {"GET /c1/items/1", "", 200, `"text":"new"`}},
	},
}

// A client that reads and then repeats after a 503 does its work exactly once.
func TestReadFirstThenRepeat(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.MariaDB)
	database, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	node := testenv.Redis(t, false)
	wires := map[string]*faultproxy.Proxy{
		"redis": faultproxy.New(faultproxy.TCP(node.Addr)), "database": faultproxy.New(faultproxy.TCP(database.Addr)),
	}
	addrs := make(map[string]string)
	for server, wire := range wires {
		t.Cleanup(wire.Close)
		if addrs[server], err = wire.Listen(); err != nil {
			t.Fatal(err)
		}
	}
	instance := startInstance(t, &servers.Node{Restartable: servers.Restartable{Addr: addrs["redis"]}},
		"--database=mysql:"+strings.Replace(database.DSN, database.Addr, addrs["database"], 1), "--order-think=0s")
	for name, c := range lostReplies {
		t.Run(name, func(t *testing.T) {
			s := client{instance.URL, name, "0"}
			for _, e := range c.before {
				s.send(t, e)
			}
			lost := make(chan struct{})
			wires[c.server].LoseReply(matchLast(c.command), func(faultproxy.Chunk) { close(lost) })
			s.send(t, c.lost)
			<-lost
			for _, e := range c.then {
				s.send(t, e)
			}
		})
	}
}

// matchLast returns a function that matches the request with the last of the commands, after requests with the others.
func matchLast(commands string) func(faultproxy.Chunk) bool {
	rest := strings.Split(commands, " … ")
	return func(request faultproxy.Chunk) bool {
		found := bytes.Contains(request.Data, []byte(rest[0]))
		if found && len(rest) > 1 {
			rest, found = rest[1:], false
		}
		return found
	}
}

// client sends requests with one idempotency key, and remembers the last order.
type client struct{ url, key, order string }

// send sends the request of e and checks the response.
func (s *client) send(t *testing.T, e exchange) {
	t.Helper()
	method, path, _ := strings.Cut(strings.ReplaceAll(e.request, "ORDER", s.order), " ")
	request, err := http.NewRequestWithContext(testenv.Context(t), method, s.url+path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", s.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != e.status || !strings.Contains(string(body), strings.ReplaceAll(e.want, "ORDER", s.order)) {
		t.Fatalf("%s %s: %d %s, %v; want %d with %s", method, path, response.StatusCode, body, err, e.status, e.want)
	}
	var made struct{ ID, Order json.Number }
	if json.Unmarshal(body, &made) == nil && made.ID+made.Order != "" {
		s.order = fmt.Sprint(made.ID + made.Order)
	}
}
