#!/bin/sh
# Healthy: one master has three replicas online, and each replica's link to it is up.
masters=0 links=0 online=0
for node in $NODES; do
	info=$(timeout 1 redis-cli -h "${node%:*}" -p "${node#*:}" info replication 2>&1 | tr -d '\r')
	case $info in
	*role:master*)
		masters=$((masters + 1))
		online=$(echo "$info" | grep -c 'state=online')
		;;
	*master_link_status:up*) links=$((links + 1)) ;;
	*role:slave*) echo "$node has no link to its master" ;;
	*) echo "$node does not answer: $info" ;;
	esac
done
echo "$masters master, $online replicas online there, $links replicas with their link up; wanted are 1, 3 and 3"
[ "$masters $online $links" = "1 3 3" ]
