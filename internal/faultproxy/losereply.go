package faultproxy

import (
	"bytes"
	"regexp"
)

// loss is a reply that is still to be lost.
type loss struct {
	match func(Chunk) bool
	then  func(Chunk)
	asked map[*conn]bool // the connections on which a request that match accepts has arrived since
}

// LoseReply loses the reply to the next request that match accepts, and closes the connection. The server has executed the request,
// and the client cannot know it. A match of nil accepts every request. LoseReply calls then, unless it is nil, with the reply before
// it closes the connection; then may make another fault. Mend cancels a loss that has not happened yet.
//
// The reply is the first chunk to the client after the request. The rule is exact under two conditions. The client sends no request before
// the last one on the connection has been answered. The server sends nothing unasked on it.
func (p *Proxy) LoseReply(match func(request Chunk) bool, then func(reply Chunk)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = &loss{match, then, make(map[*conn]bool)}
}

// NoGreeting is a match for [Proxy.LoseReply]. It refuses the requests with which a Redis client opens a connection or a subscription:
// HELLO, CLIENT, SUBSCRIBE, SSUBSCRIBE. A client may send them in its background, at any time.
func NoGreeting(request Chunk) bool {
	begin := bytes.ToLower(request.Data[:min(len(request.Data), 24)])
	for _, command := range []string{"\r\nhello", "\r\nclient", "\r\nsubscribe", "\r\nssubscribe"} {
		if bytes.Contains(begin, []byte(command)) {
			return false
		}
	}
	return true
}

var pingOrPong = regexp.MustCompile(`(?i)^(\*1\r\n\$4\r\nping\r\n|\+pong\r\n|\*2\r\n\$4\r\npong\r\n\$0\r\n\r\n)+$`)

// RedisPing is a [Proxy.Control] for Redis: a client may ping a connection in its background, at any time. It is PING alone, or its reply.
func RedisPing(c Chunk) bool { return pingOrPong.Match(c.Data) }

// http1 begins a request or an answer of HTTP/1.
var http1 = regexp.MustCompile(`^([A-Z]+ /|HTTP/1\.)`)

// HTTP2Control is a [Proxy.Control] for HTTP/2, and so for gRPC: a chunk without a message.
func HTTP2Control(c Chunk) bool {
	if http1.Match(c.Data) { // etcd speaks both
		return false
	}
	const header, data, headers = 9, 0, 1
	for rest := bytes.TrimPrefix(c.Data, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); len(rest) >= header; {
		length, kind := int(rest[0])<<16|int(rest[1])<<8|int(rest[2]), rest[3]
		if kind == data || kind == headers {
			return false
		}
		rest = rest[min(header+length, len(rest)):]
	}
	return true
}

// loses reports whether a chunk is the one to be lost.
func (f *flow) loses(c Chunk) bool {
	p := f.proxy
	p.mu.Lock()
	l := p.loss
	if p.Control != nil && p.Control(c) {
		l = nil
	}
	if l != nil && c.Direction == ToServer && (l.match == nil || l.match(c)) {
		l.asked[f.conn] = true
	}
	if l == nil || c.Direction == ToServer || !l.asked[f.conn] {
		p.mu.Unlock()
		return false
	}
	p.loss = nil
	p.mu.Unlock()
	if l.then != nil {
		l.then(c)
	}
	return true
}
