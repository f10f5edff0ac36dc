// Your lock, as a program for app lab try. This one is SETNX and DEL: mend it, or put yours in its place. lab.js does all the rest.
const lab = require("./lab");

class Lock {
  constructor(redis) {
    this.redis = redis; // sends a command: await this.redis("GET", key)
  }

  // Tries once. Returns null when another client holds the key, otherwise the fencing token, or 1.
  async acquire(key, owner, leaseMs) {
    return (await this.redis("SETNX", key, owner)) || null;
  }

  // Returns 0 when the owner does not hold the key.
  async release(key, owner) {
    return this.redis("DEL", key);
  }

  // Lets the lease begin again. Returns 0 when the owner does not hold the key. This one does nothing yet.
  async renew(key, owner, leaseMs) {
    return 1;
  }
}

// What you claim is tried:
// renews: true: lab.js calls renew every third of the lease, until the release.
// tells_loss: true: with renews, lab.js tells the lab when renew has returned 0, or has failed for a whole lease.
// extends: true: lab.js calls renew when the lab asks for it.
// tokens: true: lab.js sends what acquire has returned as the fencing token.
lab.attempts(Lock, { name: "my lock in node" });
