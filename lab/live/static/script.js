"use strict";
// The page works without this script: a form leads back to its page, and a reload shows the present state.
(() => {
  const parts = document.body.dataset.parts.split(" ").filter(Boolean);
  const connection = document.getElementById("connection");

  // morph makes the children of an element those of another one, and keeps each node that is alike: with it the focus, a text that
  // somebody types, and what somebody has opened. A node with an id is alike wherever it comes next, any other one only at its place.
  const alike = (a, b) => a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  const morph = (old, fresh) => {
    let at = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      let found = at;
      while (next.id && found && !alike(found, next)) found = found.nextSibling;
      if (!found || !alike(found, next)) {
        old.insertBefore(next, at);
        continue;
      }
      while (at !== found) at = gone(at);
      update(at, next);
      at = at.nextSibling;
    }
    while (at) at = gone(at);
  };
  const gone = (node) => {
    const next = node.nextSibling;
    node.remove();
    return next;
  };

  // What a person has changed is never replaced: the value of a field, and whether something is open. Nor is a part in another part, what
  // the script says beside a form, and a drawing that plays the same steps.
  const kept = new Set(["open", "tabindex"]);
  const isChanged = (field) =>
    field.matches("[type=checkbox], [type=radio]") ? field.checked !== field.defaultChecked : field.matches("input") && field.value !== field.defaultValue;
  const update = (old, next) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
      return;
    }
    if (parts.includes(old.id) || old.matches(".wrong-field") || (old.dataset.steps && old.dataset.steps === next.dataset.steps)) return;
    const typed = isChanged(old);
    for (const { name } of [...old.attributes]) if (!kept.has(name) && !next.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of next.attributes) if (!kept.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    if (old.matches("input") && !typed) {
      old.value = next.defaultValue;
      old.checked = next.defaultChecked;
    }
    morph(old, next);
  };

  // A part that has changed. The page itself has the present text, which the first event repeats. When what has the focus cannot be pressed
  // any more, the focus moves to what can be pressed next to it, in the same element with an id.
  const press = "button:not(:disabled):not(.stop), a"; // a second press of “Run it” must not stop the run
  const last = new Map();
  const replace = ({ part, html }) => {
    const old = document.getElementById(part);
    if (!old || last.get(part) === html) return;
    const first = !last.has(part);
    last.set(part, html);
    const fresh = old.cloneNode(false);
    fresh.innerHTML = html; // as the browser spells it
    if (first && fresh.innerHTML === old.innerHTML) return;
    const focus = document.activeElement;
    const stopped = focus.matches(".stop"); // nor a second press of “Stop” run anything
    const around = [];
    for (let e = focus; old.contains(e); e = e.parentElement) around.push(e);
    if (old.querySelector("[id], [tabindex], a, button, input, details")) morph(old, fresh);
    else old.replaceChildren(...fresh.childNodes); // there is nothing to keep, and what only grows must not count as moved
    old.dispatchEvent(new Event("part", { bubbles: true }));
    for (const box of old.matches(".play") ? old.querySelectorAll(".picture") : []) box.scrollLeft = box.scrollWidth; // to the newest
    if (around.length === 0 || (focus.isConnected && !focus.disabled && !focus.closest("fieldset:disabled"))) return;
    const near = around.filter((e) => e.id && e.isConnected).map((e) => (stopped ? null : e.querySelector(press)));
    const next = near.find(Boolean) || old;
    if (next === old) old.tabIndex = -1;
    next.focus({ preventScroll: true });
  };

  // On the static site a script of the page has what has changed.
  document.addEventListener("changed", (event) => replace(event.detail));

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

  // A form is sent without loading the page again: what changes arrives as an event. Two are sent one after the other.
  let sent = Promise.resolve();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || "load" in form.dataset) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    sent = sent.then(() => send(form, body));
  });
  const send = async (form, body) => {
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/event-stream" } });
      for (const line of document.querySelectorAll(".wrong-field")) line.textContent = "";
      if (answer.ok) {
        connection.textContent = said;
        for (const field of form.elements) {
          if (!field.matches("input")) continue;
          field.defaultValue = field.value; // what was sent is not typed any more
          field.defaultChecked = field.checked;
        }
        return follow();
      }
      const beside = document.getElementById("wrong-" + (answer.headers.get("Locklab-Wrong") || form.id));
      (beside || connection).textContent = await answer.text();
    } catch {
      connection.textContent = "The program does not answer. Is it still running?";
    }
  };

  // A participant's page follows the trainer's to another one, unless somebody types here, or has pressed “Stay here”.
  const now = document.getElementById("now"), stay = document.getElementById("stay");
  const leads = () => now?.querySelector("a")?.pathname;
  const types = (field) => field.matches("input:not([type=checkbox], [type=radio], [type=range])") && isChanged(field);
  // Where the trainer led this window last. It outlives a page: somebody who was not connected meanwhile follows on the next one.
  const at = () => sessionStorage.getItem("led");
  const follow = () => {
    const to = leads();
    if (now) now.hidden = to === location.pathname;
    if (!stay || stay.checked || !to || to === at() || types(document.activeElement)) return;
    sessionStorage.setItem("led", to);
    if (to !== location.pathname) location.replace(to);
  };
  now?.addEventListener("part", follow);
  if (stay) {
    stay.checked = sessionStorage.getItem("stay") === "yes";
    if (at() === null) sessionStorage.setItem("led", leads() || "");
    follow();
    stay.addEventListener("change", () => {
      sessionStorage.setItem("stay", stay.checked ? "yes" : "no");
      follow();
    });
    document.addEventListener("focusout", () => setTimeout(follow));
  }
})();
