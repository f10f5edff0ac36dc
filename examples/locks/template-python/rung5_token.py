"""Rung 5: each grant has a larger fencing token, by the server's time: a counter would begin again after a restart."""
import lab, rung4_renewal

GRANT = """if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return nil end
local now = redis.call('TIME') return now[1] * 1000000 + now[2]"""


class Lock(rung4_renewal.Lock):
    def acquire(self, key, owner, lease_ms):
        return self.redis("EVAL", GRANT, 1, key, owner, lease_ms)


if __name__ == "__main__":
    lab.serve(Lock, name="rung 5: token", renews=True, tokens=True)
