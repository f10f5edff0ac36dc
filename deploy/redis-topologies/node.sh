#!/bin/sh
# Starts a Redis server on $PORT; arguments add to its configuration, which stands on the command line
# and in no file: sentinels make a server rewrite its file.
exec redis-server --port "$PORT" --bind 0.0.0.0 --dir /data \
	--requirepass "$REDIS_PASSWORD" --masterauth "$REDIS_PASSWORD" \
	--save '' --appendonly no --maxmemory-policy noeviction \
	--repl-diskless-sync-delay 0 --repl-ping-replica-period 1 "$@"
