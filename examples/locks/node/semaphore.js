// The Mutex of redis-semaphore (github.com/swarthy/redis-semaphore) as a program for app lab try. With the argument timeout the client has
// a commandTimeout, a quarter of the lease; by default ioredis has none.
//
// These settings are not the defaults: lockTimeout is the lab's lease (default 10 s), and a renewal follows after 0.8 of it, as by default.
// acquireTimeout is the wait (default 10 s); where the lab tries once, acquireAttemptsLimit is 1. onLockLost tells of a loss; by default it
// throws, which ends the process.
const Redis = require("ioredis");
const { Mutex } = require("redis-semaphore");
const lab = require("../template-node/lab");

function open(servers, lease) {
  const [host, port] = servers[0].split(":");
  const client = new Redis({ host, port: Number(port), ...(timeout && { commandTimeout: lease / 4 }) });
  return async (key, waitMs, leaseMs) => {
    const grant = {};
    const wait = waitMs ? { acquireTimeout: waitMs } : { acquireAttemptsLimit: 1 };
    const mutex = new Mutex(client, key, { lockTimeout: leaseMs, ...wait, onLockLost: (err) => grant.lost(String(err)) });
    grant.release = async () => {
      const held = mutex.isAcquired; // release does not say whether the key was there
      await mutex.release();
      return held;
    };
    return (await mutex.tryAcquire()) ? grant : null;
  };
}

const [timeout, ...more] = process.argv.slice(2);
if ((timeout && timeout !== "timeout") || more.length) {
  console.error("semaphore.js: the only argument is timeout, for a client that ends a command without a reply");
  process.exit(64);
}
lab.serve(open, { name: ["redis-semaphore", timeout].filter(Boolean).join(", "), renews: true, tells_loss: true, silent_release: true });
