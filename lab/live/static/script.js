"use strict";
// The page works without this script: a form leads back to its page, and a reload shows the present state.
(() => {
  const parts = document.body.dataset.parts.split(" ").filter(Boolean);
  const connection = document.getElementById("connection");

  // A part that has changed replaces the old one. The focus stays where it was, or moves to what can be pressed next to it, in the same
  // element with an id. The page itself has the present text, which the first event repeats: then nothing is replaced.
  const press = "button:not(:disabled):not(.stop), a"; // a second press of “Run it” must not stop the run
  const last = new Map();
  const replace = ({ part, html }) => {
    const old = document.getElementById(part);
    if (!old || last.get(part) === html) return;
    const spelled = old.cloneNode(false);
    spelled.innerHTML = html; // as the browser spells it
    const first = !last.has(part);
    last.set(part, html);
    if (first && spelled.innerHTML === old.innerHTML) return;
    const drawn = old.querySelector(".view") !== null;
    const focused = old.contains(document.activeElement);
    const stopped = focused && document.activeElement.matches(".stop"); // nor a second press of “Stop” run anything
    const ids = [];
    for (let e = document.activeElement; focused && e !== old; e = e.parentElement) if (e.id) ids.push(e.id);
    old.innerHTML = html;
    old.classList.toggle("fresh", !first && !drawn); // its drawing appears in the sequence of its time, once
    old.dispatchEvent(new Event("part", { bubbles: true }));
    for (const box of old.matches(".play") ? old.querySelectorAll(".picture") : []) box.scrollLeft = box.scrollWidth; // to the newest
    if (!focused) return;
    const near = ids.map((id) => document.getElementById(id)).filter(Boolean).map((e) => (e.matches("button:enabled, a") ? e : stopped ? null : e.querySelector(press)));
    const next = near.find(Boolean) || (stopped ? old : old.querySelector(press)) || old;
    if (next === old) old.tabIndex = -1;
    next.focus({ preventScroll: true });
  };

  // What is said of the connection. A form may have said something else meanwhile.
  let said = "";
  const say = (text) => { if (text !== said) connection.textContent = said = text; };

  // A page that nobody sees has no connection. Of the windows that are seen, those that were used last keep one, and the others connect for
  // a moment every few seconds: a browser has six connections for one program, and a page that loads needs one.
  const keep = 4, glance = 3000;
  const windows = window.BroadcastChannel ? new BroadcastChannel("locklab") : { postMessage() {} };
  const name = Math.random(), others = new Map(); // when each other window that is seen was used
  let used = 0; // 0: nobody sees this one
  const announce = () => windows.postMessage({ name, used });
  windows.onmessage = ({ data }) => {
    const news = data.used > 0 && !others.has(data.name);
    if (data.used > 0) others.set(data.name, data.used);
    else others.delete(data.name);
    if (news && used > 0) announce(); // it may be new, and know nothing of this one
    settle();
  };
  const keeps = () => [...others.values()].filter((at) => at > used).length < keep;

  // The first events of a connection are the present state. A beat ends them, and comes again and again. A connection that ends, is refused
  // or falls silent is opened again, later each time. An EventSource would do so after some of these failures, and not after a 502.
  const silence = 40000, soon = 1000, late = 8000; // the program beats every 15 s
  let source = null, current = false, timer = 0, failures = 0;
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
    current = false;
  };
  const open = () => {
    close();
    source = new EventSource("/ui/events?" + new URLSearchParams([["server", document.body.dataset.server], ...parts.map((p) => ["of", p])]));
    source.onmessage = (event) => replace(JSON.parse(event.data));
    source.addEventListener("beat", () => {
      current = true;
      failures = 0;
      clearTimeout(timer);
      timer = setTimeout(lost, silence);
      settle();
    });
    source.addEventListener("restarted", () => {
      close();
      location.replace(location.pathname + location.search); // not reload(), which would ask whether to send a form again
    });
    source.onerror = lost;
    timer = setTimeout(lost, silence);
  };
  const lost = () => {
    close();
    say("The connection is lost, so this may be an old state. The page goes on when the program answers again.");
    timer = setTimeout(open, Math.min(late, soon * 2 ** failures++));
  };
  const settle = () => {
    if (!current) return;
    if (keeps()) return say("");
    close();
    say("The page is open in many windows. This one is updated every few seconds, until you use it.");
    timer = setTimeout(open, glance);
  };

  const use = () => {
    used = Date.now() + Math.random(); // no two are equal
    announce();
    if (!source) open();
  };
  const look = () => {
    const seen = document.visibilityState === "visible" && parts.length > 0;
    if (seen === used > 0) return;
    if (seen) return use();
    used = 0;
    announce();
    close();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
  addEventListener("focus", () => { if (used > 0) use(); });
  look();

  // A key presses the button that names it, unless somebody types in a field, or has switched the keys off.
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("input:not([type=checkbox]), select, textarea, .drawing, .scroll, .picture");
    if (field || event.ctrlKey || event.altKey || event.metaKey || event.repeat || document.querySelector("#keys:not(:checked)")) return;
    const key = (event.shiftKey ? "Shift+" : "") + event.key.toUpperCase();
    const button = [...document.querySelectorAll("[data-key]")].find((b) => b.dataset.key === key);
    if (!button) return;
    event.preventDefault();
    button.click();
  });

  document.addEventListener("change", (event) => {
    if (event.target.name === "view") event.target.closest(".fresh")?.classList.remove("fresh"); // so that two variants can be compared
  });

  document.addEventListener("animationend", (event) => event.target.closest(".fresh")?.classList.remove("fresh"));

  // A form is sent without loading the page again: what changes arrives as an event. Two are sent one after the other.
  let sent = Promise.resolve();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || "load" in form.dataset) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    sent = sent.then(() => send(form.action, body));
  });
  const send = async (address, body) => {
    try {
      const answer = await fetch(address, { method: "POST", body, headers: { Accept: "text/event-stream" } });
      if (answer.ok) {
        connection.textContent = said;
        return;
      }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const says = page.querySelector(".finding");
      connection.textContent = says ? says.textContent : "The program answered " + answer.status + ".";
    } catch {
      connection.textContent = "The program does not answer. Is it still running?";
    }
  };
})();
