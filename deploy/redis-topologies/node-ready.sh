#!/bin/sh
# Healthy: the server on $PORT answers.
answer=$(redis-cli -p "$PORT" ping)
[ "$answer" = PONG ] || { echo "port $PORT answers: ${answer:-nothing}"; exit 1; }
