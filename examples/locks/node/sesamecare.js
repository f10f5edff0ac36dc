// @sesamecare-oss/redlock (github.com/sesamecare/redlock) as a program for app lab try. The first argument is one, the default, or five
// servers. The second one is using, for the method that renews the lock, or best: an acquire tries twice at most, because it removes the
// keys of a minority only after its last try. A third one, timeout: the client has a commandTimeout, a quarter of the lease.
//
// The defaults are: driftFactor 0.01, retryCount 10, retryDelay 200, retryJitter 100, automaticExtensionThreshold 500. (The README shows
// retryJitter 200.) So a waiter polls 11 times, about 2 s, and then it is refused. The library knows no deadline.
// Two settings are not the defaults.
// - retryCount of an acquire. It is smaller where a wait is shorter than 3 s, which 10 retries may take. It is 0 where the lab tries once.
// - retryCount of a release and of an extension. It is 0. By default the library repeats a refused one for 2 s. That is longer than the lab's
// lease of 1 s. With using, the release has the default, and the extensions have the retryCount of the acquire.
// Else the client has ioredis's defaults: it connects again without end, and a request without a reply has no timeout.
const Redis = require("ioredis");
const { ExecutionError, Redlock, ResourceLockedError } = require("@sesamecare-oss/redlock");
const lab = require("../template-node/lab");

const [longestDelay, tryOnce] = [200 + 100, { retryCount: 0 }]; // the delay between two tries: retryDelay and retryJitter

// opens gets how a lock is taken: by(redlock, key, leaseMs, settings) returns a grant.
const opens = (by) => (servers, lease) => {
  const clients = servers.map((server) => {
    const [host, port] = server.split(":");
    return new Redis({ host, port: Number(port), ...(timeout && { commandTimeout: lease / 4 }) });
  });
  const redlock = new Redlock(clients);
  return async (key, waitMs, leaseMs) => {
    try {
      return await by(redlock, key, leaseMs, { retryCount: Math.min(way === "best" ? 1 : 10, Math.floor(waitMs / longestDelay)) });
    } catch (err) {
      if (err instanceof ExecutionError) return null;
      throw err;
    }
  };
};

async function byAcquire(redlock, key, leaseMs, settings) {
  let lock = await redlock.acquire([key], leaseMs, settings);
  return {
    release: () => held(() => redlock.release(lock, tryOnce)),
    extend: () => held(async () => (lock = await redlock.extend(lock, leaseMs, tryOnce))),
  };
}

function byUsing(redlock, key, leaseMs, settings) {
  return new Promise((resolve, reject) => {
    const used = redlock.using([key], leaseMs, settings, async (signal) => {
      const grant = {};
      signal.addEventListener("abort", () => grant.lost(String(signal.error)));
      const work = new Promise((done) => {
        grant.release = () => done() || held(() => used);
      });
      resolve(grant);
      return work;
    });
    used.catch(reject); // after the grant this does nothing: its release has the error
  });
}

// held is false when a majority says that the lock is another's or nobody's, or when its time is over. Other errors are errors.
async function held(act) {
  try {
    await act();
    return true;
  } catch (err) {
    if (!(err instanceof ExecutionError)) throw err;
    const last = await err.attempts.at(-1);
    const refused = last && [...last.votesAgainst.values()].filter((vote) => vote instanceof ResourceLockedError);
    if (last && refused.length < last.quorumSize) throw err;
    return false;
  }
}

const stores = { one: ["@sesamecare-oss/redlock", "redis"], five: ["@sesamecare-oss/redlock, five servers", "redlock"] };
const [mode = "one", way, timeout, ...more] = process.argv.slice(2);
if (!stores[mode] || ![undefined, "using", "best"].includes(way) || (timeout && timeout !== "timeout") || more.length) {
  console.error("sesamecare.js: the arguments are one or five, using for the method that renews or best, and timeout for the client");
  process.exit(64);
}
const [store, name] = [stores[mode][1], [stores[mode][0], way, timeout].filter(Boolean).join(", ")];
if (way === "using") lab.serve(opens(byUsing), { name, store, renews: true, tells_loss: true });
else lab.serve(opens(byAcquire), { name, store, extends: true });
