"""Redlock of pottery (github.com/brainix/pottery) as a program for app lab try: one server, or five with the argument five. With a second
argument, extensions, it may be extended more often: pottery_lock.py one extensions

Settings that are not the defaults:
auto_release_time: it is the lease. The default is 10 s.
blocking, timeout: they are the wait. By default a waiter waits without a bound.
socket_timeout of redis-py: it is half of the lease, as its default, 5 s, is half of the default of auto_release_time.
num_extensions: with the argument extensions. By default a lock is extended three times at most.
"""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "template-python"))
import lab
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock, TooManyExtensions
from redis import Redis

EXTENSIONS = dict(num_extensions=1000) if sys.argv[2:] == ["extensions"] else {}


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
    except TooManyExtensions:
        return False


def open(servers, lease_ms):
    addresses = [server.rsplit(":", 1) for server in servers]
    masters = {Redis(host=host, port=int(port), socket_timeout=lease_ms / 2000) for host, port in addresses}

    def acquire(key, wait_ms, lease_ms):
        lock = Redlock(key=key, masters=masters, auto_release_time=lease_ms / 1000, **EXTENSIONS)
        wait = dict(blocking=True, timeout=wait_ms / 1000) if wait_ms else dict(blocking=False)
        return Grant(lock) if lock.acquire(**wait) else None

    return acquire


if __name__ == "__main__":
    stores = {"one": "redis", "five": "redlock"}
    if len(sys.argv) < 2 or sys.argv[1] not in stores or sys.argv[2:] not in ([], ["extensions"]):
        print("pottery_lock.py: the arguments are one or five, and extensions for more than three of them", file=sys.stderr)
        sys.exit(64)
    lab.serve(open, name=" ".join(["pottery", *sys.argv[1:]]), store=stores[sys.argv[1]], extends=True)
