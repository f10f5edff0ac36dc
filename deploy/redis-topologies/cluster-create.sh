#!/bin/sh
# Makes a cluster of $NODES, unless they are one, and becomes the command of its arguments. Without any it stays.
set -e
for node in $NODES; do
	until [ "$(timeout 2 redis-cli -h "${node%:*}" -p "${node#*:}" ping 2>/dev/null)" = PONG ]; do sleep 0.2; done
done
first=${NODES%% *}
if ! timeout 2 redis-cli -h "${first%:*}" -p "${first#*:}" cluster info | grep -q cluster_state:ok; then
	# shellcheck disable=SC2086 # six arguments
	redis-cli --cluster create $NODES --cluster-replicas 1 --cluster-yes
fi
[ $# -gt 0 ] || set -- sleep infinity
exec "$@"
