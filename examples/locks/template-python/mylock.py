"""Your lock, as a program for app lab try. This one is SETNX and DEL: mend it, or put yours in its place. lab.py has the protocol."""
import lab


class Lock:
    def __init__(self, redis):
        self.redis = redis  # sends a command: self.redis("GET", key)

    def acquire(self, key, owner, lease_ms):
        """Tries once. Returns None when another client holds the key, otherwise the fencing token, or 1."""
        return self.redis("SETNX", key, owner) or None

    def release(self, grant):
        """Releases a grant, which is a key and its owner. Returns 0 when it was not held."""
        return self.redis("DEL", grant[0])


if __name__ == "__main__":
    # Claims: renews=True calls renew(grant, lease_ms) in time, and extends=True when the lab asks for it: return 0 when it is not held.
    # tells_loss=True tells the lab when a renewal has returned 0. tokens=True sends what acquire has returned.
    lab.serve(Lock, name="my lock in python")
