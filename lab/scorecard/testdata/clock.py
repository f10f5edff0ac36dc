"""A lock of the processes' clocks: its value is the end of the lease, and whoever finds that over takes it. T27 must notice it."""
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


if __name__ == "__main__":
    lab.attempts(Clock, name="a lock of clocks")
