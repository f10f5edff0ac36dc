#!/bin/sh
# Starts the node on $PORT of the cluster of $NODES: address:port of three masters, then of a replica of each. Every node writes down who they
# all are before it starts. So no command makes the cluster, and a node that starts again is still a part of it.
cat >/data/nodes.conf <<END
$(
	number=0
	for node in $NODES; do
		number=$((number + 1)) address=${node%:*} port=${node#*:}
		[ "$port" = "$PORT" ] && me=myself, || me=
		master=- slots=
		case $number in
		1) role=master slots=0-5460 ;;
		2) role=master slots=5461-10922 ;;
		3) role=master slots=10923-16383 ;;
		*) role=slave master=$(printf %040d $((number - 3))) ;;
		esac
		printf '%040d %s:%d@%d %s%s %s 0 0 %d connected %s\n' $number "$address" "$port" $((port + 10000)) "$me" "$role" "$master" $number "$slots"
	done
)
vars currentEpoch 6 lastVoteEpoch 0
END
exec sh "${0%/*}/node.sh" --cluster-enabled yes --cluster-node-timeout 2000
