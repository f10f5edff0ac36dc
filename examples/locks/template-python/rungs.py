"""Five locks, from SETNX to a fencing token. Each mends one defect of the lock before: python3 rungs.py 3"""
import sys
import lab

COMPARE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return %s end return 0"
# The token is the server's time in microseconds: a counter would begin again after a restart.
GRANT = """if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return nil end
local now = redis.call('TIME') return now[1] * 1000000 + now[2]"""


class SetNX:
    """Rung 1: SETNX and DEL. Defect: a dead holder locks the key for ever."""

    def __init__(self, redis):
        self.redis = redis

    def acquire(self, key, owner, lease_ms):
        return self.redis("SETNX", key, owner) or None

    def release(self, key, owner):
        return self.redis("DEL", key)


class Expiry(SetNX):
    """Rung 2: an expiry, set with the key. Defect: a late release deletes the next holder's key."""

    def acquire(self, key, owner, lease_ms):
        return 1 if self.redis("SET", key, owner, "NX", "PX", lease_ms) else None


class Owner(Expiry):
    """Rung 3: the release compares the owner. Defect: work longer than the lease has two holders."""

    def release(self, key, owner):
        return self.redis("EVAL", COMPARE % "redis.call('DEL', KEYS[1])", 1, key, owner)


class Renewal(Owner):
    """Rung 4: the holder renews its lease. Defect: a paused holder writes after its successor."""

    def renew(self, key, owner, lease_ms):
        return self.redis("EVAL", COMPARE % "redis.call('PEXPIRE', KEYS[1], ARGV[2])", 1, key, owner, lease_ms)


class Token(Renewal):
    """Rung 5: each grant has a larger fencing token. Left: the resource must check it, and the server's clock must not go back."""

    def acquire(self, key, owner, lease_ms):
        return self.redis("EVAL", GRANT, 1, key, owner, lease_ms)


RENEWAL = dict(renews=True, tells_loss=True, extends=True)
RUNGS = {
    "1": (SetNX, "SETNX", {}),
    "2": (Expiry, "expiry", {}),
    "3": (Owner, "owner", {}),
    "4": (Renewal, "renewal", RENEWAL),
    "5": (Token, "token", dict(RENEWAL, tokens=True)),
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in RUNGS:
        print("rungs.py: give one argument, the number of the rung: 1, 2, 3, 4 or 5", file=sys.stderr)
        sys.exit(64)
    lock, name, claims = RUNGS[sys.argv[1]]
    lab.attempts(lock, f"rung {sys.argv[1]}: {name}", **claims)
