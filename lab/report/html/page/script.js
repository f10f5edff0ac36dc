"use strict";
// Without this script a page still shows everything: titles describe the events, and Tab reaches each of them.

const marks = (figure) => [...figure.querySelectorAll(".drawing .mark")];

// show writes below a drawing what the event is.
const show = (mark) => {
  const figure = mark.closest("figure");
  const said = figure.querySelector(".event");
  said.textContent = mark.querySelector("title").textContent;
  said.classList.add("told");
  for (const other of marks(figure)) other.classList.toggle("on", other === mark);
};

// One event of a drawing is a stop of the Tab key, and the arrow keys move on: there may be hundreds of events.
const only = (mark) => {
  for (const other of marks(mark.closest("figure"))) other.setAttribute("tabindex", other === mark ? "0" : "-1");
};

// What is wider than the screen says so: there is more to the right.
const width = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("wider", target.scrollWidth > target.clientWidth + 1);
});

// reveal scrolls a drawing that is too wide to where several hold the lock, or to the violation, as little as possible.
const reveal = (figure) => {
  const box = figure.querySelector(".picture");
  const target = figure.querySelector(".drawing .overlap .column") || figure.querySelector(".drawing .shows");
  if (!target || box.scrollWidth <= box.clientWidth) return;
  const names = figure.querySelector(".names").getBoundingClientRect();
  const inside = target.getBoundingClientRect();
  const beyond = inside.right + 40 - box.getBoundingClientRect().right;
  box.scrollLeft += Math.max(0, Math.min(beyond, inside.left - names.right - 40));
};

// prepare readies the drawings of a page, or of a part that has come later: a live page says "part" then.
const prepare = (part) => {
  for (const box of part.querySelectorAll(".picture, .scroll")) width.observe(box);
  for (const figure of part.querySelectorAll("figure.timelines")) {
    const all = marks(figure);
    const shown = all.find((mark) => mark.classList.contains("shows"));
    if (all.length > 0) only(shown || all[0]);
    reveal(figure);
  }
  for (const details of part.querySelectorAll("details")) { // a drawing that is folded cannot be scrolled
    details.addEventListener("toggle", () => details.querySelectorAll("figure.timelines").forEach(reveal), { once: true });
  }
};
document.addEventListener("part", (event) => prepare(event.target));
prepare(document);

for (const what of ["focusin", "pointerover", "click"]) {
  document.addEventListener(what, (event) => {
    const mark = event.target.closest(".drawing .mark");
    if (!mark) return;
    show(mark);
    if (what === "focusin") only(mark);
    if (what === "click") mark.focus();
  });
}

document.addEventListener("keydown", (event) => {
  const mark = event.target.closest(".drawing .mark");
  if (!mark) return;
  const all = marks(mark.closest("figure"));
  const at = all.indexOf(mark);
  const next = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (next === undefined || !all[next]) return;
  event.preventDefault();
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest", inline: "center" });
});

// A link into a closed experiment opens it.
const open = () => {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && document.getElementById(id);
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", open);
open();

// Before printing, everything is unfolded.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
