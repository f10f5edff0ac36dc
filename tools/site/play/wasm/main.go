//go:build js

// Command wasm plays a lock in a worker of a browser (worker.js). The first message that it receives is the lock, and each further one is a
// press. It answers with the play as HTML, or with what was wrong.
package main

import (
	"context"
	"encoding/json"
	"strings"
	"syscall/js"

	"locklab/internal/sentence"
	"locklab/lab/live/steps"
)

func main() {
	received := make(chan string, 100)
	js.Global().Set("onmessage", js.FuncOf(func(_ js.Value, events []js.Value) any {
		received <- events[0].Get("data").String()
		return nil
	}))
	send("ready", true)
	var lock steps.Lock
	if err := json.Unmarshal([]byte(<-received), &lock); err != nil {
		send("wrong", sentence.Of(err))
		return
	}
	games := &steps.Games{Changed: show}
	tell(games.Open(lock))
	for press := range received {
		tell(games.Press(context.Background(), lock, press))
	}
}

// show sends what has become of the game.
func show(g *steps.Game) {
	v := steps.View{Game: g, Loading: g.Searching}
	if g.Searching { // one goroutine at a time runs here, so a press would wait
		v.Why = "That can take half a minute."
	}
	var html strings.Builder
	if err := steps.Show(&html, v); err != nil {
		tell(err)
		return
	}
	send("changed", map[string]any{"part": g.Key(), "html": html.String()})
}

// tell sends what went wrong with a press; empty: nothing.
func tell(err error) {
	says := ""
	if err != nil {
		says = sentence.Of(err)
	}
	send("wrong", says)
}

func send(what string, value any) { js.Global().Call("postMessage", map[string]any{what: value}) }
