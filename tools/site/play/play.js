"use strict";
// A worker plays the lock of this page. Its presses and its keys are those of the live page (script.js), which also shows what has changed.
(() => {
  const connection = document.getElementById("connection");
  const say = (text) => { connection.textContent = text; };
  const bar = document.createElement("progress");
  bar.ariaLabel = "Loading";
  // It is said once, because connection is read aloud.
  const loads = ({ loaded, total }) => {
    if (!bar.isConnected) {
      say(`Loading the lab: ${(total / 1e6).toFixed(1)} MB `);
      connection.append(bar);
    }
    bar.max = total;
    bar.value = loaded;
  };
  if (!window.WebAssembly || !window.DecompressionStream) {
    return say("This browser is too old to run the lab: it needs WebAssembly and DecompressionStream.");
  }
  const worker = new Worker(new URL("worker.js", document.currentScript.src));
  worker.onmessage = ({ data }) => {
    if (data.loaded) loads(data);
    if (data.ready) worker.postMessage(document.getElementById("lock").textContent);
    if (data.changed) document.dispatchEvent(new CustomEvent("changed", { detail: data.changed }));
    if ("wrong" in data) say(data.wrong);
  };
  worker.onerror = () => say("The lab has stopped. Load the page again.");
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation();
    worker.postMessage(event.submitter.value);
  }, true);
})();
