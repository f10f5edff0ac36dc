"use strict";
// The menu shows where the reader is. Pages work without this script.
(() => {
  const menu = document.getElementById("pages");
  const here = menu?.querySelector("[aria-current]");
  const showHere = () => {
    menu.scrollTop = here.offsetTop - menu.clientHeight / 2;
  };
  if (here) {
    showHere();
    menu.addEventListener("toggle", showHere);
  }

  // What moves sideways can be reached by keyboard.
  for (const wide of document.querySelectorAll(".scroll")) if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
})();
