#!/bin/sh
# Starts a sentinel on $PORT. $1: its own address, $2 and $3: the master's first address and port. The
# sentinel rewrites its configuration, so it gets one of its own. Addresses, not names: redis/redis#12753.
password=$(printf %s "$REDIS_PASSWORD" | sed 's/[\\"]/\\&/g')
cat >/data/sentinel.conf <<END
port $PORT
bind 0.0.0.0
protected-mode no
dir /data
sentinel announce-ip $1
sentinel announce-port $PORT
sentinel monitor lab $2 $3 2
sentinel auth-pass lab "$password"
sentinel down-after-milliseconds lab 2000
sentinel failover-timeout lab 10000
END
exec redis-sentinel /data/sentinel.conf
