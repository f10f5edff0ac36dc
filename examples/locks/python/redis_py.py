"""The lock of redis-py (github.com/redis/redis-py) as a program for app lab try. Install: see requirements.txt.

Settings that are not the defaults:
timeout: it is the lease. By default a lock has no expiry.
blocking, blocking_timeout: they are the wait. By default a waiter waits without a bound.
socket_timeout: it is a quarter of the lease. The default of redis-py 8 is 5 s.
replace_ttl=True: an extension is a whole lease from now. By default extend adds to the time that is left.
"""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "template-python"))
import lab
import redis
from redis.exceptions import LockError


class Grant:
    def __init__(self, lock):
        self.lock = lock

    def release(self):
        return held(self.lock.release)

    def extend(self):
        return held(self.lock.extend, self.lock.timeout, replace_ttl=True)


def held(act, *args, **options):
    """False: the library says that the lock is not held. After an error of the connection its second release says so, too."""
    try:
        act(*args, **options)
        return True
    except LockError:
        return False


def open(servers, lease_ms):
    host, port = servers[0].rsplit(":", 1)
    client = redis.Redis(host=host, port=int(port), socket_timeout=lease_ms / 4000)

    def acquire(key, wait_ms, lease_ms):
        lock = client.lock(key, timeout=lease_ms / 1000)
        wait = dict(blocking=True, blocking_timeout=wait_ms / 1000) if wait_ms else dict(blocking=False)
        return Grant(lock) if lock.acquire(**wait) else None

    return acquire


if __name__ == "__main__":
    lab.serve(open, name=f"redis-py {redis.__version__}", extends=True)
