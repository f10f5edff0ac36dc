"""Rung 2: an expiry, set with the key. A late release deletes the next holder's key."""
import lab, rung1_setnx


class Lock(rung1_setnx.Lock):
    def acquire(self, key, owner, lease_ms):
        return 1 if self.redis("SET", key, owner, "NX", "PX", lease_ms) else None


if __name__ == "__main__":
    lab.serve(Lock, name="rung 2: SET NX PX")
