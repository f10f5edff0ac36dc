#!/bin/sh
# Healthy: the server takes writes.
node=$NODES
answer=$(timeout 2 redis-cli -h "${node%:*}" -p "${node#*:}" set locklab_ready yes px 1000 2>&1)
[ "$answer" = OK ] || { echo "$node does not take writes: $answer"; exit 1; }
echo "$node takes writes"
