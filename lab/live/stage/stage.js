"use strict";
// Plays the steps of a drawing. A step has beats: messages travel, and then parts of the drawing look otherwise. An element of its own, so
// that it begins wherever it is put into the page. Until it has played to its end, or a person has paused it, it has the class unseen: the
// page may keep from view what it shows.
customElements.define("lock-stage", class extends HTMLElement {
  static observedAttributes = ["data-steps"];
  step = 0; // that is shown
  run = 0; // number of the run that plays; a new one ends it
  running = []; // its animations

  // The answers were shown, so the steps say more now. What has played is not played once more: the drawing stays at its end.
  attributeChangedCallback(_, old) {
    if (old === null) return;
    this.read();
    queueMicrotask(() => this.show(this.steps.length - 1)); // when the whole part has changed
  }

  connectedCallback() {
    this.range = this.querySelector("input[type=range]");
    if (!this.range) return; // nothing to play yet
    this.read();
    this.press(".play", () => this.toggle());
    this.press(".back", () => this.show(this.step - 1));
    this.press(".on", () => this.show(this.step + 1));
    this.range.oninput = () => this.show(Number(this.range.value));
    this.step = this.steps.length - 1;
    if (!this.checkVisibility()) return;
    this.play(1); // once, when it appears
    this.classList.toggle("unseen", !this.still);
  }

  read() {
    let looks = {};
    this.steps = JSON.parse(this.dataset.steps).map((step) => ({
      ...step, beats: step.beats.map((beat) => ({ ...beat, before: looks, after: (looks = { ...looks, ...beat.looks }) })),
    }));
  }

  disconnectedCallback() { this.stop(); }

  press(what, then) { this.querySelector(what).onclick = then; }

  get still() { return matchMedia("(prefers-reduced-motion: reduce)").matches; }
  get plays() { return this.running.some((a) => a.playState === "running"); }

  // toggle plays, pauses, or plays once more.
  toggle() {
    this.classList.remove("unseen");
    const paused = this.running.filter((a) => a.playState === "paused");
    if (this.plays) for (const a of this.running) a.pause();
    else if (paused.length) for (const a of paused) a.play();
    else this.play(this.step === this.steps.length - 1 ? 1 : this.step + 1);
    this.button();
  }

  async play(from) {
    this.stop();
    if (this.still) return;
    const run = this.run;
    this.apply(this.steps[from - 1].beats.at(-1).after);
    for (let n = from; n < this.steps.length; n++) {
      this.tell(n);
      for (const beat of this.steps[n].beats) {
        this.running = this.animate(beat);
        this.button();
        await Promise.allSettled(this.running.map((a) => a.finished));
        if (run !== this.run) return;
        this.apply(beat.after);
      }
    }
    this.stop();
    this.button();
    document.querySelector(".answer")?.scrollIntoView({ block: "nearest", behavior: "smooth" }); // on a phone it stands below
  }

  stop() {
    this.run++;
    this.classList.remove("unseen");
    for (const a of this.running) a.cancel();
    this.running = [];
  }

  // show shows the end of a step.
  show(n) {
    this.stop();
    n = Math.max(0, Math.min(this.steps.length - 1, n));
    this.apply(this.steps[n].beats.at(-1).after);
    this.tell(n);
    this.button();
  }

  button() {
    const play = this.querySelector(".play"), plays = this.plays;
    play.firstChild.data = plays ? "Pause " : "Play ";
    play.classList.toggle("on-air", plays);
  }

  tell(n) {
    const { says, note = "", bad = false } = this.steps[n];
    this.step = n;
    this.range.value = n;
    this.range.setAttribute("aria-valuetext", says);
    this.querySelector(".caption").classList.toggle("bad", bad);
    this.querySelector(".what").textContent = says;
    this.querySelector(".caption small").textContent = note;
    this.querySelector(".back").disabled = n === 0;
    this.querySelector(".on").disabled = n === this.steps.length - 1;
  }

  parts(name) { return this.querySelectorAll(`[data-part="${CSS.escape(name)}"]`); }

  apply(looks) {
    for (const [name, { class: is = "", text = "", level = 0 }] of Object.entries(looks)) {
      for (const part of this.parts(name)) {
        part.setAttribute("class", part.dataset.base + " " + is);
        const says = part.querySelector("[data-says]");
        if (says && says.textContent !== text) says.textContent = text;
        part.querySelector(".lease")?.setAttribute("stroke-dashoffset", 100 - level);
      }
    }
  }

  // animate begins a beat. Its first animation moves nothing: it is as long as the beat.
  animate(beat) {
    const svg = [...this.querySelectorAll("svg.wide, svg.tall")].find((s) => s.getClientRects().length > 0);
    const all = [this.querySelector(".caption").animate([{ opacity: 1 }, { opacity: 1 }], beat.ms)];
    if (!svg) return all;
    for (const move of beat.moves || []) all.push(...this.send(svg, move, beat.ms));
    const grows = ["scale(1)", "scale(1.1)", "scale(1)", "scale(1.1)", "scale(1)"].map((transform) => ({ transform }));
    if (beat.pulse) for (const part of this.parts(beat.pulse)) all.push(part.animate(grows, Math.min(beat.ms, 1200)));
    for (const [name, { level = 0 }] of Object.entries(beat.looks || {})) {
      const ring = svg.querySelector(`[data-part="${CSS.escape(name)}"] .lease`), was = beat.before[name]?.level ?? 0;
      if (ring && level < was) all.push(ring.animate([{ strokeDashoffset: 100 - was }, { strokeDashoffset: 100 - level }], beat.ms));
    }
    return all;
  }

  // send lets a message travel. One that is lost drops at the end of its way, and one that is refused drops at half of it.
  send(svg, move, ms) {
    const way = svg.querySelector(`[data-way="${CSS.escape(move.way)}"]`);
    if (!way) return [];
    const make = (name, attributes, to) => {
      const e = document.createElementNS(svg.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
      return to.appendChild(e);
    };
    const message = make("g", { class: "message " + move.class }, svg);
    const pill = make("rect", {}, message);
    let width = 22, height = 22;
    if (move.text) {
      const text = make("text", {}, message);
      text.textContent = move.text;
      const box = text.getBBox();
      [width, height] = [box.width + 24, box.height + 10];
    }
    for (const [key, value] of Object.entries({ x: -width / 2, y: -height / 2, width, height, rx: height / 2 })) pill.setAttribute(key, value);
    const drops = move.class.includes("drops"), whole = way.getTotalLength(), points = 16, arrives = drops ? 0.65 : 1;
    const lengthwise = svg.matches(".wide") ? width : height; // a message stops before what it reaches, whose text it must not cover
    const start = Math.min(lengthwise / 2, whole / 4), length = whole - 2 * start;
    const edge = svg.viewBox.baseVal.width;
    const frames = Array.from({ length: points + 1 }, (_, i) => {
      const at = way.getPointAtLength(start + (length * (move.back ? points - i : i)) / points);
      const x = Math.min(edge - width / 2 - 2, Math.max(width / 2 + 2, at.x));
      return { transform: `translate(${x}px, ${at.y}px)`, opacity: i ? 1 : 0, offset: (arrives * i) / points };
    });
    if (drops) frames.push({ transform: frames.at(-1).transform + " translateY(120px)", opacity: 0, offset: 1 });
    const times = { delay: ms * (move.delay || 0), duration: ms * (1 - (move.delay || 0)), fill: "both" };
    const all = [message.animate(frames, { ...times, easing: "ease-in-out" })];
    if (drops) all.push(pill.animate([{ offset: 0.55 }, { fill: "var(--bad)", offset: 0.65 }, { fill: "var(--bad)" }], times));
    way.setAttribute("class", "way busy " + move.class);
    const gone = () => {
      message.remove();
      way.setAttribute("class", "way");
    };
    all[0].finished.then(gone, gone);
    return all;
  }
});

// A tab that is switched to starts its drawing.
document.addEventListener("change", (event) => {
  if (event.target.name !== "view") return;
  for (const stage of event.target.closest(".views").querySelectorAll("lock-stage")) {
    stage.stop();
    if (stage.steps && stage.checkVisibility()) stage.play(1);
  }
});

// The space bar plays and pauses, unless it presses what has the focus, or the keys are switched off.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("button, a, input:not([type=radio], [type=range]), select, textarea, summary") || document.querySelector("#keys:not(:checked)")) return;
  const stage = [...document.querySelectorAll("lock-stage")].find((s) => s.steps && s.checkVisibility());
  if (!stage) return;
  event.preventDefault();
  stage.toggle();
});
