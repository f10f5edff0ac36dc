"""Locks of the processes' clocks. T27 must notice them.

end:   the value is the end of the lease, and whoever finds that over takes it
token: the server ends the lease, and the token is the time of the process
"""
import os, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "examples", "locks", "template-python"))
import lab


class Clock:
    def __init__(self, redis):
        self.redis = redis

    def acquire(self, key, owner, lease_ms):
        now = time.time() * 1000
        mine = f"{now + lease_ms} {owner}"
        if self.redis("SETNX", key, mine):
            return 1
        held = self.redis("GET", key)
        over = held and float(held.split()[0]) < now
        return 1 if over and self.redis("GETSET", key, mine) == held else None

    def release(self, key, owner):
        held = self.redis("GET", key)
        return self.redis("DEL", key) if held and held.endswith(owner) else 0


class Token:
    def __init__(self, redis):
        self.redis = redis

    def acquire(self, key, owner, lease_ms):
        return int(time.time() * 1000) if self.redis("SET", key, owner, "NX", "PX", lease_ms) else None

    def release(self, key, owner):
        return self.redis("EVAL", "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0", 1, key, owner)


if __name__ == "__main__":
    if sys.argv[1] == "token":
        lab.attempts(Token, name="tokens of clocks", tokens=True)
    else:
        lab.attempts(Clock, name="a lock of clocks")
