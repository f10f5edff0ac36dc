"""Rung 3: the release compares the owner. Work longer than the lease has two holders."""
import lab, rung2_ttl

COMPARE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return %s end return 0"


class Lock(rung2_ttl.Lock):
    def release(self, grant):
        return self.redis("EVAL", COMPARE % "redis.call('DEL', KEYS[1])", 1, *grant)


if __name__ == "__main__":
    lab.serve(Lock, name="rung 3: owner")
