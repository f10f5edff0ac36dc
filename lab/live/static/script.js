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

  // A page that nobody sees has no connection: a browser has six for one program. The first events of a new one are the present state.
  let source = null;
  const look = () => {
    const seen = document.visibilityState === "visible" && parts.length > 0;
    if (seen === (source !== null)) return;
    if (!seen) {
      source.close();
      source = null;
      return;
    }
    source = new EventSource("/ui/events?" + parts.map((p) => "of=" + encodeURIComponent(p)).join("&"));
    source.onmessage = (event) => replace(JSON.parse(event.data));
    source.onopen = () => { connection.textContent = ""; };
    source.onerror = () => { connection.textContent = "The connection is lost. The page goes on when the program answers again."; };
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
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
        connection.textContent = "";
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
