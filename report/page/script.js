"use strict";
// Without this script a page shows all the same: titles say what an event is, and every event can be reached by Tab.

const marks = (figure) => [...figure.querySelectorAll(".drawing .mark")];

// show writes below a drawing what the event is.
const show = (mark) => {
  const figure = mark.closest("figure");
  const said = figure.querySelector(".event");
  said.textContent = mark.querySelector("title").textContent;
  said.classList.add("told");
  for (const other of marks(figure)) other.classList.toggle("on", other === mark);
};

// Hundreds of events would be hundreds of stops of the Tab key: one in each drawing is enough, the arrows do the rest.
const only = (mark) => {
  for (const other of marks(mark.closest("figure"))) other.setAttribute("tabindex", other === mark ? "0" : "-1");
};

// reveal scrolls a drawing that is too wide to where several hold the lock, or else to what shows the breach.
const reveal = (figure) => {
  const box = figure.querySelector(".picture");
  const target = figure.querySelector(".drawing .overlap .column") || figure.querySelector(".drawing .shows");
  if (!target || box.scrollWidth <= box.clientWidth) return;
  const names = figure.querySelector(".names").clientWidth;
  box.scrollLeft += target.getBoundingClientRect().left - box.getBoundingClientRect().left - names - 40;
};

for (const details of document.querySelectorAll("details.run")) {
  details.addEventListener("toggle", () => details.querySelectorAll("figure.lanes").forEach(reveal), { once: true });
}

for (const figure of document.querySelectorAll("figure.lanes")) {
  const all = marks(figure);
  const shown = all.find((mark) => mark.classList.contains("shows"));
  if (all.length > 0) only(shown || all[0]);
  reveal(figure);
}

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

// On paper nothing can be opened.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
