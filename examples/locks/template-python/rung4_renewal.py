"""Rung 4: the holder renews its lease. A paused holder writes after its successor."""
import lab, rung3_owner


class Lock(rung3_owner.Lock):
    def renew(self, grant, lease_ms):
        return self.redis("EVAL", rung3_owner.COMPARE % "redis.call('PEXPIRE', KEYS[1], ARGV[2])", 1, *grant, lease_ms)


if __name__ == "__main__":
    lab.serve(Lock, name="rung 4: renewal", renews=True)
