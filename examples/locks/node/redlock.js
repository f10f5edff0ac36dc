// redlock (github.com/mike-marcacci/node-redlock) as a program for app lab try: one server, or five with the argument five. With a
// second argument, timeout, the client has a commandTimeout, a quarter of the lease: redlock.js five timeout
//
// The defaults are: driftFactor 0.01, retryCount 10, retryDelay 200, retryJitter 100. (The README shows retryJitter 200.) So a waiter polls
// 11 times, about 2 s, and then it is refused. The library knows no deadline.
// Two settings are not the defaults.
// - retryCount of an acquire. It is smaller where a wait is shorter than 3 s, which 10 retries may take. It is 0 where the lab tries once.
// - retryCount of an extension. It is 0. By default the library repeats a refused one for 2 s. That is longer than the lab's lease of 1 s.
// The client is ioredis with its defaults: it connects again without end, and a request that has no reply has no timeout.
const Redis = require("ioredis");
const Redlock = require("redlock");
const lab = require("../template-node/lab");

const longestDelay = 200 + 100; // between two tries: retryDelay and retryJitter

function open(servers, leaseMs) {
  const clients = servers.map((server) => {
    const [host, port] = server.split(":");
    return new Redis({ host, port: Number(port), ...(timeout && { commandTimeout: leaseMs / 4 }) });
  });
  const tryOnce = new Redlock(clients, { retryCount: 0 });
  const lockers = new Map([[0, tryOnce]]); // by retryCount: an option of one acquire cannot make it 0
  return async (key, waitMs, leaseMs) => {
    const retryCount = Math.min(10, Math.floor(waitMs / longestDelay));
    if (!lockers.has(retryCount)) lockers.set(retryCount, new Redlock(clients, { retryCount }));
    let lock = null;
    const acquired = await held(async () => (lock = await lockers.get(retryCount).acquire(key, leaseMs)));
    return acquired ? { release: () => held(() => lock.unlock()), extend: () => held(() => tryOnce.extend(lock, leaseMs)) } : null;
  };
}

// held is false when the library says that no majority agreed. It does not say whether the servers refused or failed.
async function held(act) {
  try {
    await act();
    return true;
  } catch (err) {
    if (err instanceof Redlock.LockError) return false;
    throw err;
  }
}

const modes = { one: ["redlock", "redis"], five: ["redlock, five servers", "redlock"] };
const [mode = "one", timeout, ...more] = process.argv.slice(2);
if (!Object.hasOwn(modes, mode) || (timeout && timeout !== "timeout") || more.length) {
  console.error("redlock.js: the arguments are one or five, and timeout for a client that gives up a command");
  process.exit(64);
}
const [name, store] = modes[mode];
lab.serve(open, { name: timeout ? `${name}, ${timeout}` : name, store, extends: true });
