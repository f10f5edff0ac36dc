"use strict";
// The menu shows where the reader is, and the search loads its index when somebody is about to search. Pages work without this script.
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

  const input = document.getElementById("search");
  if (!input) return;
  const root = input.dataset.root;
  const found = input.parentElement.querySelector(".found");
  const status = found.querySelector("[role=status]");
  const list = found.querySelector("ol");
  const most = 12;

  const loadScript = (src) =>
    new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject });
      document.head.append(script);
    });

  // Words of questions, which say nothing about a page.
  const common = new Set(
    "a an and are at be by can do does for from happens how i if in is it its my of on or run should that the this to use was what when which who why will with you".split(" "),
  );

  // The glossary explains terms; decisions and the changelog only mention them.
  const weight = ({ url, group }) => (url === "docs/glossary/" ? 9 : /^docs\/(decisions|changelog|errata)\//.test(url) ? 0.3 : group ? 2 : 1);

  let index;
  const load = () =>
    (index ??= Promise.all([fetch(root + "static/search.json").then((r) => r.json()), loadScript(root + "static/minisearch/minisearch.min.js")]).then(
      ([pages]) => {
        const search = new MiniSearch({
          fields: ["title", "group", "text"],
          processTerm: (term) => (common.has(term.toLowerCase()) ? null : term.toLowerCase()),
          searchOptions: {
            prefix: (term) => term.length > 2,
            fuzzy: (term) => (term.length > 4 ? 0.2 : false),
            boost: { title: 4, group: 2 },
            boostDocument: (id) => weight(pages[id]),
          },
        });
        search.addAll(pages.map((page, id) => ({ id, ...page })));
        return { pages, search };
      },
    ));

  const element = (name, ...children) => {
    const e = document.createElement(name);
    e.append(...children);
    return e;
  };

  // marked is a text in which the terms stand out.
  const marked = (text, terms) => {
    const pattern = new RegExp("\\b(" + terms.map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
    return text.split(pattern).map((part, i) => (i % 2 ? element("mark", part) : part));
  };

  // excerpt is what surrounds the query in a text, or else the first of its terms.
  const excerpt = (text, query, terms) => {
    const lower = text.toLowerCase();
    const whole = lower.indexOf(query.toLowerCase());
    const at = whole >= 0 ? whole : Math.min(...terms.map((t) => lower.indexOf(t)).filter((i) => i >= 0), text.length);
    const from = at === text.length ? 0 : text.lastIndexOf(" ", Math.max(0, at - 60)) + 1;
    return (from > 0 ? "… " : "") + text.slice(from, text.lastIndexOf(" ", from + 170)) + " …";
  };

  const show = async () => {
    const query = input.value.trim();
    found.hidden = !query;
    if (!query) return;
    status.textContent = "Searching …";
    let all;
    try {
      all = await load();
    } catch {
      index = undefined;
      status.textContent = "The search index did not load.";
      return;
    }
    if (query !== input.value.trim()) return; // a newer search shows its own result
    let results = all.search.search(query, { combineWith: "AND" });
    if (results.length === 0) results = all.search.search(query);
    const items = results.slice(0, most).map(({ id, terms }) => {
      const page = all.pages[id];
      const a = element("a", element("strong", ...marked(page.title, terms)));
      if (page.group) a.append(element("small", page.group));
      a.append(element("span", ...marked(excerpt(page.text, query, terms), terms)));
      a.href = root + page.url;
      return element("li", a);
    });
    list.replaceChildren(...items);
    const more = results.length > most ? `, the best ${most}:` : "";
    status.textContent = results.length === 0 ? `No page has “${query}”.` : `${results.length} ${results.length === 1 ? "page" : "pages"}${more}`;
  };

  const links = () => [...list.querySelectorAll("a")];
  const close = () => {
    found.hidden = true;
  };

  input.addEventListener("focus", () => {
    load().catch(() => (index = undefined));
    if (input.value.trim()) found.hidden = false;
  });
  input.addEventListener("input", show);
  input.parentElement.addEventListener("keydown", (event) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && !found.hidden) all[Math.min(at + 1, all.length - 1)]?.focus();
    else if (event.key === "ArrowUp" && at >= 0) (all[at - 1] ?? input).focus();
    else if (event.key === "Enter" && at < 0 && !found.hidden) all[0]?.click();
    else if (event.key === "Escape" && !found.hidden) (input.focus(), close());
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  document.addEventListener("click", (event) => {
    if (!input.parentElement.contains(event.target)) close();
  });
})();
