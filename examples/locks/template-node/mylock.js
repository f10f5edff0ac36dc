// Your lock, as a program for app lab try. This one is SETNX and DEL: mend it, or put yours in its place. lab.js has the protocol.
const lab = require("./lab");

class Lock {
  constructor(redis) {
    this.redis = redis; // sends a command: await this.redis("GET", key)
  }

  // Tries once. Returns null when another client holds the key, otherwise the fencing token, or 1.
  async acquire(key, owner, leaseMs) {
    return (await this.redis("SETNX", key, owner)) || null;
  }

  // Releases a grant, which is a key and its owner. Returns 0 when it was not held.
  async release(grant) {
    return this.redis("DEL", grant.key);
  }
}

module.exports = { Lock };
if (require.main === module) {
  // Claims: renews calls renew(grant, leaseMs) in time, and extends when the lab asks for it: return 0 when it is not held.
  // tells_loss tells the lab when a renewal has returned 0. tokens sends what acquire has returned.
  lab.serve(Lock, { name: "my lock in node" });
}
