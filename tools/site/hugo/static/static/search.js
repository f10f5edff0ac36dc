"use strict";
// The search of every page. Its field is made here, because it needs this script. It loads its index when somebody is about to search.
(() => {
  const root = new URL("..", document.currentScript.src).href;
  const field = document.createElement("search");
  field.className = "search";
  field.innerHTML = `<label class="sr" for="search">Search all pages</label>
    <input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>
    <div class="found" hidden><p role="status"></p><ol></ol></div>`;
  document.querySelector(".top > .tools").append(field);
  const input = field.querySelector("input");
  const found = field.querySelector(".found");
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
    ("a an and are at be by can do does for from get happens have how i if in is it its me my need of on or should so that the there this to use " +
      "using want was we what when where which who why will with you your").split(" "),
  );

  // stem makes one word of "lease" and "leases", or of "expires" and "expired".
  const stem = (word) => (word.length > 4 ? word.replace(/(ing|ed|s)$/, "").replace(/e$/, "") : word);

  // Decisions and the changelog only mention what other pages explain.
  const weight = ({ url, group }) => (/^docs\/(decisions|changelog|errata)\//.test(url) ? 0.3 : group ? 2 : 1);

  let index;
  const load = () =>
    (index ??= Promise.all([fetch(root + "static/search.json").then((r) => r.json()), loadScript(root + "static/minisearch/minisearch.min.js")]).then(
      ([pages]) => {
        const search = new MiniSearch({
          fields: ["title", "words", "headings", "begins", "group", "text"],
          processTerm: (term) => (common.has(term.toLowerCase()) ? null : stem(term.toLowerCase())),
          searchOptions: {
            prefix: (term) => term.length > 2,
            fuzzy: (term) => (term.length > 4 ? 0.2 : false),
            boost: { title: 6, words: 5, headings: 2, begins: 2, group: 2 },
            boostDocument: (id) => weight(pages[id]),
          },
        });
        search.addAll(pages.map((page, id) => ({ id, ...page })));
        return { pages, search };
      },
    ));

  // ranked has the pages with most of the words first, and before all the one whose title is the query, such as a term of the glossary.
  // Of many words a page may lack one.
  const ranked = ({ pages, search }, query) => {
    const results = search.search(query);
    const words = Math.max(...results.map((r) => r.queryTerms.length));
    const score = (r) => r.score * (r.queryTerms.length / words) ** 2 * (pages[r.id].title.toLowerCase() === query.toLowerCase() ? 100 : 1);
    return results.filter((r) => r.queryTerms.length >= words - (words > 2 ? 1 : 0)).sort((a, b) => score(b) - score(a));
  };

  const element = (name, ...children) => {
    const e = document.createElement(name);
    e.append(...children);
    return e;
  };

  // marked is a text in which the words with these stems stand out.
  const marked = (text, terms) => {
    const pattern = new RegExp("\\b((?:" + terms.map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")\\w*)", "gi");
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
    const results = ranked(all, query);
    const items = results.slice(0, most).map(({ id, terms }) => {
      const page = all.pages[id];
      const a = element("a", element("strong", ...marked(page.title, terms)));
      if (page.group) a.append(element("small", page.group));
      a.append(element("span", ...marked(page.term ? page.text : excerpt(page.text, query, terms), terms)));
      a.href = root + page.url + (page.term ? "#:~:text=" + encodeURIComponent(page.term) : "");
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
  field.addEventListener("keydown", (event) => {
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
    if (!field.contains(event.target)) close();
  });
})();
