"""Your lock, as a program for app lab try. This one is SETNX and DEL: mend it, or put yours in its place. lab.py does all the rest."""
import lab


class Lock:
    def __init__(self, redis):
        self.redis = redis  # sends a command: self.redis("GET", key)

    def acquire(self, key, owner, lease_ms):
        """Tries once. Returns None when another client holds the key, otherwise the fencing token, or 1."""
        return self.redis("SETNX", key, owner) or None

    def release(self, key, owner):
        """Returns 0 when the owner does not hold the key."""
        return self.redis("DEL", key)

    def renew(self, key, owner, lease_ms):
        """Lets the lease begin again. Returns 0 when the owner does not hold the key. This one does nothing yet."""
        return 1


if __name__ == "__main__":
    # What you claim is tried:
    # renews=True: lab.py calls renew every third of the lease, until the release.
    # tells_loss=True: with renews, lab.py tells the lab when renew has returned 0, or has failed for a whole lease.
    # extends=True: lab.py calls renew when the lab asks for it.
    # tokens=True: lab.py sends what acquire has returned as the fencing token.
    lab.attempts(Lock, name="my lock in python")
