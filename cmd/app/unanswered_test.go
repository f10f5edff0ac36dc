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

	"locklab/internal/testenv"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

// exchange is a request, and what its answer says. ORDER stands for the order that an answer before has made.
type exchange struct {
	request, body string
	status        int
	says          string
}

// unanswered are requests whose work is done, and whose answer is 503: the server's reply to the command is lost. Before it come the
// commands in front of " … ". then is what docs/http-api.md tells the client to do.
var unanswered = map[string]struct {
	server, command string
	before          []exchange
	lost            exchange
	then            []exchange
}{
	"a view": {
		"redis", "\r\nset\r\n",
		[]exchange{{"PUT /pview", `{"value": 5}`, 200, ""}},
		exchange{"POST /v1/pview", "", 503, "GET /pview reads the counter"},
		[]exchange{{"GET /pview", "", 200, `"value":6`}},
	},
	"the counter": {
		"redis", "\r\nevalsha\r\n",
		[]exchange{{"PUT /pview", `{"value": 5}`, 200, ""}},
		exchange{"PUT /pview", `{"value": 7}`, 503, "the counter may have been set"},
		[]exchange{{"GET /pview", "", 200, `"value":7`}, {"PUT /pview", `{"value": 7}`, 200, `"value":7`}},
	},
	"an order": {
		"database", "INSERT INTO `orders`", nil,
		exchange{"POST /orders", "", 503, "a repeated request makes another one"},
		[]exchange{{"POST /orders", "", 201, `"status":"open"`}},
	},
	"a grab": {
		"database", "orders … COMMIT",
		[]exchange{{"POST /orders", "", 201, ""}},
		exchange{"POST /v0/orders/ORDER/grab?driver=12", "", 503, "the same request again tells"},
		[]exchange{
			{"POST /v0/orders/ORDER/grab?driver=13", "", 409, `"winner":12`},
			{"POST /v0/orders/ORDER/grab?driver=12", "", 200, `"again":true`},
		},
	},
	"a purchase": {
		"database", "shop_orders … COMMIT",
		[]exchange{{"PUT /shop/items/1", `{"stock": 3}`, 200, ""}},
		exchange{"POST /v0/shop/items/1/buy?buyer=7", "", 503, "with the same Idempotency-Key, tells"},
		[]exchange{
			{"POST /v0/shop/items/1/buy?buyer=7", "", 201, `"sold":true`},
			{"GET /shop/items/1", "", 200, `"stock":2,"sold":1,"oversold":0,"unaccounted":0,"orders":1,`},
		},
	},
	"a payment": {
		"database", "shop_orders … COMMIT",
		[]exchange{{"PUT /shop/items/2", `{"stock": 3}`, 200, ""}, {"POST /v0/shop/items/2/buy?buyer=7", "", 201, ""}},
		exchange{"POST /v0/shop/orders/ORDER/pay", "", 503, "GET /shop/orders/ORDER tells"},
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
		exchange{"PUT /c1/items/1", `{"text": "new"}`, 503, "read it, then repeat"},
		[]exchange{{"PUT /c1/items/1", `{"text": "new"}`, 200, ""}, {"GET /c1/items/1", "", 200, `"text":"new"`}},
	},
}

// After a 503 a client reads, then repeats. The work is done once.
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
	instance := serving(t, &stack.Node{Restartable: stack.Restartable{Addr: addrs["redis"]}},
		"--database=mysql:"+strings.Replace(database.DSN, database.Addr, addrs["database"], 1), "--order-think=0s")
	for name, c := range unanswered {
		t.Run(name, func(t *testing.T) {
			s := asking{instance.URL, name, "0"}
			for _, e := range c.before {
				s.ask(t, e)
			}
			lost := make(chan struct{})
			wires[c.server].LoseReply(last(c.command), func(faultproxy.Chunk) { close(lost) })
			s.ask(t, c.lost)
			<-lost
			for _, e := range c.then {
				s.ask(t, e)
			}
		})
	}
}

// last accepts the request with the last of these commands, after requests with the others.
func last(commands string) func(faultproxy.Chunk) bool {
	rest := strings.Split(commands, " … ")
	return func(request faultproxy.Chunk) bool {
		found := bytes.Contains(request.Data, []byte(rest[0]))
		if found && len(rest) > 1 {
			rest, found = rest[1:], false
		}
		return found
	}
}

// asking is one client. Its key is that of each purchase.
type asking struct{ url, key, order string }

func (s *asking) ask(t *testing.T, e exchange) {
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
	if err != nil || response.StatusCode != e.status || !strings.Contains(string(body), strings.ReplaceAll(e.says, "ORDER", s.order)) {
		t.Fatalf("%s %s: %d %s, %v; want %d with %s", method, path, response.StatusCode, body, err, e.status, e.says)
	}
	var made struct{ ID, Order json.Number }
	if json.Unmarshal(body, &made) == nil && made.ID+made.Order != "" {
		s.order = fmt.Sprint(made.ID + made.Order)
	}
}
