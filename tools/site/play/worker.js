"use strict";
// Loads the lab (wasm/main.go), which then answers the page's messages. It is compressed here because many servers of files do not.
importScripts("wasm_exec.js");
(async () => {
  try {
    const answer = await fetch("play.wasm.gzip");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const total = Number(answer.headers.get("Content-Length"));
    let loaded = 0;
    const counted = new TransformStream({
      transform(chunk, next) {
        loaded += chunk.length;
        postMessage({ loaded, total: Math.max(total, loaded) });
        next.enqueue(chunk);
      },
    });
    const code = answer.body.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"));
    const go = new Go();
    const type = { headers: { "Content-Type": "application/wasm" } };
    const { instance } = await WebAssembly.instantiateStreaming(new Response(code, type), go.importObject);
    await go.run(instance);
  } catch (error) {
    postMessage({ wrong: `The lab could not be loaded: ${error.message}. Load the page again.` });
  }
})();
