"""Rung 1: SETNX and DEL. A dead holder locks the key for ever."""
import lab


class Lock:
    def __init__(self, redis):
        self.redis = redis

    def acquire(self, key, owner, lease_ms):
        return self.redis("SETNX", key, owner) or None

    def release(self, grant):
        return self.redis("DEL", grant[0])


if __name__ == "__main__":
    lab.serve(Lock, name="rung 1: SETNX")
