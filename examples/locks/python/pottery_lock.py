"""Redlock of pottery (github.com/brainix/pottery) as a program for app lab try: one server, or five with the argument five.

Settings that are not the defaults:
auto_release_time: it is the lease. The default is 10 s.
blocking, timeout: they are the wait. By default a waiter waits without a bound.
num_extensions: by default a lock is extended three times at most, and the lab extends it more often.
"""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "template-python"))
import lab
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock
from redis import Redis

EXTENSIONS = 1000


class Grant:
    def __init__(self, lock):
        self.lock = lock

    def release(self):
        return held(self.lock.release)

    def extend(self):
        return held(self.lock.extend)


def held(act):
    """False: the library says that the lock is not held. It says so, too, when most servers failed: that is an error here."""
    try:
        act()
        return True
    except (ExtendUnlockedLock, ReleaseUnlockedLock) as e:
        if len(e.redis_errors) > len(e.masters) // 2:
            raise
        return False


def open(servers, lease_ms):
    addresses = [server.rsplit(":", 1) for server in servers]
    masters = {Redis(host=host, port=int(port)) for host, port in addresses}

    def acquire(key, wait_ms, lease_ms):
        lock = Redlock(key=key, masters=masters, auto_release_time=lease_ms / 1000, num_extensions=EXTENSIONS)
        wait = dict(blocking=True, timeout=wait_ms / 1000) if wait_ms else dict(blocking=False)
        return Grant(lock) if lock.acquire(**wait) else None

    return acquire


if __name__ == "__main__":
    modes = {(): ("pottery 3.0.1", "redis"), ("one",): ("pottery 3.0.1", "redis"), ("five",): ("pottery 3.0.1, five servers", "redlock")}
    if tuple(sys.argv[1:]) not in modes:
        print("pottery_lock.py: the argument is one, the default, or five", file=sys.stderr)
        sys.exit(64)
    name, store = modes[tuple(sys.argv[1:])]
    lab.serve(open, name=name, store=store, extends=True)
