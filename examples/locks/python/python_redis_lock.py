"""python-redis-lock (github.com/ionelmc/python-redis-lock) as a program for app lab try: without an argument, or with renewal.

Settings that are not the defaults:
expire: it is the lease. By default a lock has no expiry. The library counts whole seconds, so that the lease is rounded up.
auto_renewal: with the argument renewal. By default it does not renew.
blocking, timeout: they are the wait. By default a waiter waits without a bound.

A timeout is whole seconds, too, and one of 0.5 s has no bound at all. So a wait is rounded down, and one of less than a second is one try.
A longer wait is several calls of acquire, for two reasons. Without the renewal the library refuses a timeout longer than the lease. And a
timeout of 5 s or more has no bound with redis-py 8: its socket_timeout is 5 s, after which it sends the same BLPOP again, up to ten times.
"""
import math, os, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "template-python"))
import lab
import redis_lock
from redis import StrictRedis

LONGEST = 4  # seconds of one acquire: less than the socket_timeout of redis-py


class Grant:
    def __init__(self, lock):
        self.lock = lock

    def release(self):
        return held(self.lock.release)

    def extend(self):
        return held(self.lock.extend)


def held(act):
    """False: the library says that the lock is not held."""
    try:
        act()
        return True
    except redis_lock.NotAcquired:
        return False


def opens(renewal):
    def open(servers, lease_ms):
        host, port = servers[0].rsplit(":", 1)
        client = StrictRedis(host=host, port=int(port))

        def acquire(key, wait_ms, lease_ms):
            expire, end = math.ceil(lease_ms / 1000), time.monotonic() + wait_ms / 1000
            lock = redis_lock.Lock(client, key, expire=expire, auto_renewal=renewal)
            longest = LONGEST if renewal else min(expire, LONGEST)
            acquired, seconds = False, wait_ms // 1000
            if seconds == 0:
                acquired = lock.acquire(blocking=False)
            while not acquired and seconds > 0:
                acquired = lock.acquire(timeout=min(seconds, longest))
                seconds = math.floor(end - time.monotonic())
            return Grant(lock) if acquired else None

        return acquire

    return open


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["renewal"]):
        print("python_redis_lock.py: the only argument is renewal", file=sys.stderr)
        sys.exit(64)
    name, claims = f"python-redis-lock {redis_lock.__version__}", dict(extends=True, waits_by_message=True)
    if sys.argv[1:]:
        name, claims = name + ", renewal", dict(claims, renews=True)
    lab.serve(opens(bool(sys.argv[1:])), name=name, **claims)
