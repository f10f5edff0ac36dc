// The protocol of docs/protocol.md, and Redis over a socket. Nothing but Node. A lock is a class with acquire, release and renew.
const net = require("net");
const readline = require("readline");
const crypto = require("crypto");

// connect returns a function that sends one command. A lost connection is opened again for the next command; no command is sent twice.
function connect(addr) {
  const [, host, port] = addr.match(/^(.*):(\d+)$/);
  let socket = null;

  function open() {
    const waiting = [];
    let received = Buffer.alloc(0);
    const conn = net.connect(Number(port), host);
    const fail = (err) => {
      if (socket === conn) socket = null;
      conn.destroy();
      while (waiting.length) waiting.shift().reject(err);
    };
    conn.setNoDelay(true);
    conn.on("error", fail);
    conn.on("close", () => fail(new Error("the server closed the connection")));
    conn.on("data", (data) => {
      received = Buffer.concat([received, data]);
      for (let reply; waiting.length && (reply = parse(received, 0)); received = received.subarray(reply.end)) {
        const { resolve, reject } = waiting.shift();
        reply.value instanceof Error ? reject(reply.value) : resolve(reply.value);
      }
    });
    conn.setTimeout(1000, () => waiting.length && fail(new Error("the server has not answered within 1 s")));
    conn.waiting = waiting;
    return conn;
  }

  return (...words) =>
    new Promise((resolve, reject) => {
      socket = socket || open();
      socket.waiting.push({ resolve, reject });
      const parts = words.map((word) => Buffer.from(String(word)));
      const bulk = parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")]);
      socket.write(Buffer.concat([Buffer.from(`*${parts.length}\r\n`), ...bulk]));
    });
}

// parse reads one reply; null: it is not whole yet.
function parse(buffer, at) {
  const line = buffer.indexOf("\r\n", at);
  if (line < 0) return null;
  const [kind, rest, next] = [String.fromCharCode(buffer[at]), buffer.toString("utf8", at + 1, line), line + 2];
  if (kind === "+") return { value: rest, end: next };
  if (kind === "-") return { value: new Error(rest), end: next };
  if (kind === ":") return { value: Number(rest), end: next };
  const length = Number(rest);
  if (length < 0) return { value: null, end: next };
  if (kind === "$") {
    const end = next + length + 2;
    return buffer.length < end ? null : { value: buffer.toString("utf8", next, next + length), end };
  }
  const all = { value: [], end: next };
  for (let i = 0; i < length; i++) {
    const one = parse(buffer, all.end);
    if (!one) return null;
    all.value.push(one.value);
    all.end = one.end;
  }
  return all;
}

const send = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// serve answers the lab until it sends stop.
function serve(LockClass, claims) {
  const [held, renewed] = [new Map(), new Set()];
  let [lock, lease] = [null, 0];
  send({ type: "hello", protocol: 1, pid: process.pid, store: "redis", ...claims });

  async function acquire(r) {
    const [end, owner] = [Date.now() + (r.wait_ms || 0), crypto.randomUUID()];
    let token;
    while ((token = await lock.acquire(r.key, owner, lease)) === null) {
      if (Date.now() > end) return send({ type: "refused", id: r.id, reason: "another client holds it" });
      await sleep(20);
    }
    const grant = { key: r.key, owner };
    held.set(r.id, grant);
    renewed.add(r.id);
    send({ type: "granted", id: r.id, ...(claims.tokens && { token: String(token) }) });
    if (claims.renews) keep(r.id, grant);
  }

  // keep renews a grant until its release or its loss.
  async function keep(id, grant) {
    while (renewed.has(id)) {
      await sleep(lease / 3);
      const kept = renewed.has(id) ? await lock.renew(grant, lease).catch(() => 1) : 1; // after an error the next renewal may reach the server
      if (kept || !renewed.delete(id)) continue;
      if (claims.tells_loss) send({ type: "lost", id, reason: "a renewal found another owner, or none" });
    }
  }

  async function change(r) {
    const grant = held.get(r.id);
    if (r.type === "extend") {
      const extended = grant && (await lock.renew(grant, lease));
      return send({ type: extended ? "granted" : "not_held", id: r.id });
    }
    renewed.delete(r.id);
    const released = grant && (await lock.release(grant));
    held.delete(r.id); // after an error it is there, so that the release may be repeated
    send({ type: released ? "released" : "not_held", id: r.id });
  }

  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const r = JSON.parse(line);
    if (r.type === "stop") process.exit(0);
    if (r.type === "start") {
      [lock, lease] = [new LockClass(connect(r.servers[0])), r.lease_ms];
      return send({ type: "ready" });
    }
    const answer = r.type === "acquire" ? acquire(r) : change(r);
    answer.catch((err) => send({ type: "error", id: r.id, text: String(err) }));
  });
}

module.exports = { serve };
