"""The lock of redis-py (github.com/redis/redis-py) as a program for app lab try: on one server, or with the argument sentinel over Redis
with Sentinel. With a second argument, wait, it also waits until a replica has the lock. Install: see requirements.txt.

Settings that are not the defaults:
timeout: it is the lease. By default a lock has no expiry.
blocking, blocking_timeout: they are the wait. By default a waiter waits without a bound.
socket_timeout: it is a quarter of the lease. The default of redis-py 8 is 5 s.
replace_ttl=True: an extension is a whole lease from now. By default extend adds to the time that is left.

WAIT counts the replicas that have what its own connection has written, so the lock and WAIT use one connection of the pool, which then gets
it back. WAIT has a timeout: with 0 it would wait for ever.
"""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "template-python"))
import lab
import redis
from redis.exceptions import LockError
from redis.sentinel import Sentinel

OVER_SENTINEL, WAITS = "sentinel" in sys.argv[1:2], "wait" in sys.argv[2:3]


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


def connect(servers, timeout):
    addresses = [(host, int(port)) for host, port in (server.rsplit(":", 1) for server in servers)]
    if OVER_SENTINEL:
        return Sentinel(addresses, socket_timeout=timeout).master_for("lab", socket_timeout=timeout)
    return redis.Redis(host=addresses[0][0], port=addresses[0][1], socket_timeout=timeout)


def open(servers, lease_ms):
    client = connect(servers, lease_ms / 4000)

    def acquire(key, wait_ms, lease_ms):
        lock = client.lock(key, timeout=lease_ms / 1000)
        wait = dict(blocking=True, blocking_timeout=wait_ms / 1000) if wait_ms else dict(blocking=False)
        if not WAITS:
            return Grant(lock) if lock.acquire(**wait) else None
        with redis.Redis(connection_pool=client.connection_pool, single_connection_client=True) as lock.redis:
            if not lock.acquire(**wait):
                return None
            if lock.redis.wait(1, lease_ms // 8) == 0:
                held(lock.release)
                raise TimeoutError("no replica has confirmed the lock")
        lock.redis = client
        return Grant(lock)

    return acquire


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["sentinel"], ["sentinel", "wait"]):
        print("redis_py.py: the arguments are none, sentinel, or sentinel wait", file=sys.stderr)
        sys.exit(64)
    name = " ".join([f"redis-py {redis.__version__}", *sys.argv[1:]])
    lab.serve(open, name=name, store="sentinel" if OVER_SENTINEL else "redis", extends=True, waits_for_replica=WAITS)
