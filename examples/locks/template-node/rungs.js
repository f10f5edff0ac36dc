// Five locks, from SETNX to a fencing token. Each mends one defect of the lock before: node rungs.js 3
const lab = require("./lab");

const compare = (then) => `if redis.call('GET', KEYS[1]) == ARGV[1] then return ${then} end return 0`;
// The token is the server's time in microseconds: a counter would begin again after a restart.
// It is about 2^51, so that neither Lua nor JavaScript rounds it.
const GRANT = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return nil end
local now = redis.call('TIME') return now[1] * 1000000 + now[2]`;

// Rung 1: SETNX and DEL. Defect: a dead holder locks the key for ever.
class SetNX {
  constructor(redis) {
    this.redis = redis;
  }

  async acquire(key, owner, leaseMs) {
    return (await this.redis("SETNX", key, owner)) || null;
  }

  async release(key, owner) {
    return this.redis("DEL", key);
  }
}

// Rung 2: an expiry, set with the key. Defect: a late release deletes the next holder's key.
class Expiry extends SetNX {
  async acquire(key, owner, leaseMs) {
    return (await this.redis("SET", key, owner, "NX", "PX", leaseMs)) && 1;
  }
}

// Rung 3: the release compares the owner. Defect: work longer than the lease has two holders.
class Owner extends Expiry {
  async release(key, owner) {
    return this.redis("EVAL", compare("redis.call('DEL', KEYS[1])"), 1, key, owner);
  }
}

// Rung 4: the holder renews its lease. Defect: a paused holder writes after its successor.
class Renewal extends Owner {
  async renew(key, owner, leaseMs) {
    return this.redis("EVAL", compare("redis.call('PEXPIRE', KEYS[1], ARGV[2])"), 1, key, owner, leaseMs);
  }
}

// Rung 5: each grant has a larger fencing token. Left: the resource must check it, and the server's clock must not go back.
class Token extends Renewal {
  async acquire(key, owner, leaseMs) {
    return this.redis("EVAL", GRANT, 1, key, owner, leaseMs);
  }
}

const renewal = { renews: true, tells_loss: true, extends: true };
const rungs = {
  1: [SetNX, "SETNX"],
  2: [Expiry, "expiry"],
  3: [Owner, "owner"],
  4: [Renewal, "renewal", renewal],
  5: [Token, "token", { ...renewal, tokens: true }],
};

const [rung, ...more] = process.argv.slice(2);
if (!Object.hasOwn(rungs, String(rung)) || more.length) {
  console.error("rungs.js: give one argument, the number of the rung: 1, 2, 3, 4 or 5");
  process.exit(64);
}
const [LockClass, name, claims] = rungs[rung];
lab.attempts(LockClass, { name: `rung ${rung}: ${name}`, ...claims });
