"use strict";
// The list of experiments is filtered while somebody types. Without this script the form does it.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const cards = [...document.querySelectorAll(".experiments > li")];
  const contents = new Map(cards.map((card) => [card, card.dataset.text.toLowerCase()]));

  const keeps = (card, filter) => [...filter].every(([name, value]) => {
    if (name === "text") return words(value).every((word) => contents.get(card).includes(word));
    if (name === "article") return card.dataset.article.split(" ").includes(value);
    return card.dataset[name] === value;
  });

  const show = () => {
    const filter = new URLSearchParams([...new FormData(form)].filter(([, value]) => value.trim() !== ""));
    for (const card of cards) card.hidden = !keeps(card, filter);
    for (const subject of document.querySelectorAll(".subject")) subject.hidden = !subject.querySelector("li:not([hidden])");
    const shown = cards.filter((card) => !card.hidden).length;
    document.getElementById("shown").textContent = shown + " of " + cards.length;
    document.getElementById("none").hidden = shown > 0;
    history.replaceState(null, "", location.pathname + (filter.size ? "?" + filter : "")); // so that a way back leads to the same list
  };

  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show(); // a browser may have restored what was typed
})();

// The drawing of a replay shows the newest event, or at the end the violation. Nothing but the drawing scrolls.
(() => {
  const mark = [...document.querySelectorAll(".replay .mark.on, .replay .mark.shows")].at(-1);
  if (!mark) return;
  const box = mark.closest(".picture");
  const place = (of) => of.getBoundingClientRect();
  box.scrollTop += place(mark.closest(".row")).top - place(box).top;
  box.scrollLeft += Math.max(0, place(mark).right + 90 - place(box).right);
})();
