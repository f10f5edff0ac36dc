#!/bin/sh
# Healthy: every node says that all slots are served and knows six nodes of which none has failed.
for node in $NODES; do
	ask() { timeout 2 redis-cli -h "${node%:*}" -p "${node#*:}" cluster "$1" 2>&1 | tr -d '\r'; }
	state=$(ask info | grep -E '^cluster_(state|slots_ok|known_nodes):' | paste -sd' ')
	[ "$state" = "cluster_state:ok cluster_slots_ok:16384 cluster_known_nodes:6" ] ||
		{ echo "$node says: ${state:-nothing}"; exit 1; }
	failed=$(ask nodes | awk '$3 ~ /fail|handshake|noaddr/') # not in a hostname
	[ -z "$failed" ] || { echo "$node misses: $failed"; exit 1; }
done
echo "six nodes serve 16384 slots"
