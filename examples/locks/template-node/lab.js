// The protocol of docs/protocol.md, with nothing but Node. serve is for any lock; attempts is for a class that tries once.
const net = require("net");
const readline = require("readline");
const crypto = require("crypto");

const send = (line) => process.stdout.write(JSON.stringify(line) + "\n");
console.log = console.error; // stdout carries the lines of the protocol only, whatever a lock prints
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// serve answers the lab until it sends stop. open(servers, leaseMs) returns acquire(key, waitMs, leaseMs), which returns a grant, or null.
// A grant has release(), and extend() if that is claimed. A false value means that the lock is not held. It may have a token. serve gives
// it lost(reason), which tells the lab of a loss. All of them may be async.
function serve(open, { name, store = "redis", ...claims }) {
  const grants = new Map(); // by id
  let acquire = null;
  send({ type: "hello", protocol: 1, name, pid: process.pid, store, ...claims });

  async function start(r) {
    acquire = await open(r.servers, r.lease_ms);
    send({ type: "ready" });
  }

  async function begin({ id, key, wait_ms, lease_ms }) {
    const grant = await acquire(key, wait_ms || 0, lease_ms);
    if (!grant) return send({ type: "refused", id, reason: "another client holds it" });
    let told = false;
    grant.lost = (reason) => {
      if (!told) send({ type: "lost", id, reason });
      told = true;
    };
    grants.set(id, grant);
    send({ type: "granted", id, ...(grant.token != null && { token: String(grant.token) }) });
  }

  async function extend({ id }) {
    const grant = grants.get(id);
    send({ type: grant && (await grant.extend()) ? "granted" : "not_held", id });
  }

  async function release({ id }) {
    const grant = grants.get(id);
    const released = grant && (await grant.release());
    grants.delete(id); // after an error it is there, so that the release may be repeated
    send({ type: released ? "released" : "not_held", id });
  }

  const serves = { start, acquire: begin, extend, release, stop: () => process.exit(0) };
  const lines = readline.createInterface({ input: process.stdin });
  lines.on("close", () => process.exit(0));
  lines.on("line", async (line) => {
    const r = JSON.parse(line);
    try {
      await serves[r.type](r);
    } catch (err) {
      send({ type: "error", id: r.id, text: String(err) });
    }
  });
}

// attempts serves a class with acquire, release and renew, as mylock.js has them. It polls every 20 ms, and renews when that is claimed.
function attempts(LockClass, claims) {
  const open = (servers, leaseMs) => {
    const lock = new LockClass(connect(servers[0], leaseMs / 4));
    return async (key, waitMs, leaseMs) => {
      const [end, owner] = [Date.now() + waitMs, crypto.randomUUID()];
      let [token, asked] = [null, 0];
      while (!token) {
        asked = Date.now();
        token = await lock.acquire(key, owner, leaseMs);
        if (token === undefined) throw new Error("acquire has returned nothing: return null, a token, or 1");
        if (token) break;
        if (Date.now() >= end) return null;
        await sleep(20);
      }
      const grant = { over: false, token: claims.tokens ? token : null, good: asked };
      grant.extend = () => lock.renew(key, owner, leaseMs);
      grant.release = () => {
        grant.over = true;
        return lock.release(key, owner);
      };
      if (claims.renews) keep(grant, leaseMs, claims.tells_loss);
      return grant;
    };
  };
  serve(open, claims);
}

// keep renews every third of the lease, until the release or a loss. An error is no loss before the lease is over: the server has set the
// expiry at the time good, or later.
async function keep(grant, leaseMs, tells) {
  for (let reason = ""; !reason; ) {
    await sleep(leaseMs / 3);
    if (grant.over) return;
    const asked = Date.now();
    try {
      if (await grant.extend()) grant.good = asked;
      else reason = "a renewal found another owner, or none";
    } catch (err) {
      console.error("a renewal failed:", String(err));
      if (Date.now() - grant.good > leaseMs) reason = "no renewal has succeeded for a whole lease: " + err;
    }
    if (reason && tells && !grant.over) grant.lost(reason);
  }
}

// connect returns a function that sends one command. A lost connection is opened again for the next command; no command is sent twice.
function connect(addr, timeoutMs) {
  const [, host, port] = addr.match(/^(.*):(\d+)$/);
  let socket = null;

  function open() {
    const conn = net.connect(Number(port), host);
    let received = Buffer.alloc(0);
    conn.waiting = [];
    conn.fail = (err) => {
      if (socket === conn) socket = null;
      conn.destroy();
      while (conn.waiting.length) conn.waiting.shift()(err);
    };
    conn.setNoDelay(true);
    conn.on("error", conn.fail);
    conn.on("close", () => conn.fail(new Error("the server closed the connection")));
    conn.on("data", (data) => {
      received = Buffer.concat([received, data]);
      for (let reply; conn.waiting.length && (reply = parse(received, 0)); ) {
        received = received.subarray(reply.end);
        conn.waiting.shift()(reply.value);
      }
    });
    return conn;
  }

  return (...words) =>
    new Promise((resolve, reject) => {
      const conn = (socket = socket || open());
      const late = setTimeout(() => conn.fail(new Error(`the server has not answered within ${timeoutMs} ms`)), timeoutMs);
      conn.waiting.push((value) => {
        clearTimeout(late);
        value instanceof Error ? reject(value) : resolve(value);
      });
      const parts = words.map((word) => Buffer.from(String(word)));
      const bulk = parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from("\r\n")]);
      conn.write(Buffer.concat([Buffer.from(`*${parts.length}\r\n`), ...bulk]));
    });
}

// integer is a BigInt where a Number would lose digits, as in a large fencing token.
const integer = (digits) => (Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits));

// parse reads one reply; null: it is not whole yet.
function parse(buffer, at) {
  const line = buffer.indexOf("\r\n", at);
  if (line < 0) return null;
  const [kind, rest, next] = [String.fromCharCode(buffer[at]), buffer.toString("utf8", at + 1, line), line + 2];
  if (kind === "+") return { value: rest, end: next };
  if (kind === "-") return { value: new Error(rest), end: next };
  if (kind === ":") return { value: integer(rest), end: next };
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

module.exports = { serve, attempts };
