#!/bin/sh
# Starts the node on $PORT of the cluster of $NODES: address:port of three masters, then of a replica of each. Every node writes down who they
# all are before it starts. So no command makes the cluster, and a node that starts again is still a part of it: as the others know it now, or,
# if nobody answers, as $NODES says.
for node in $NODES; do
	[ "${node#*:}" = "$PORT" ] || timeout 1 redis-cli -h "${node%:*}" -p "${node#*:}" cluster nodes >"/data/seen-by-${node#*:}" 2>/dev/null &
done
wait

number=0
for node in $NODES; do
	number=$((number + 1)) port=${node#*:}
	master=- slots=
	case $number in
	1) role=master slots=0-5460 ;;
	2) role=master slots=5461-10922 ;;
	3) role=master slots=10923-16383 ;;
	*) role=slave master=$(printf %040d $((number - 3))) ;;
	esac
	[ "$port" != "$PORT" ] || partner=$(printf %040d $((number > 3 ? number - 3 : number + 3)))
	printf '%040d %s:%d@%d %s %s 0 0 %d connected %s\n' $number "${node%:*}" "$port" $((port + 10000)) $role "$master" $number "$slots"
done >/data/seen-by-nobody

# The newest of these tables: the one with the highest epoch. A master whose slots its replica has taken becomes the replica.
awk -v port="$PORT" -v partner="$partner" '
	FNR == 1 { if (epoch > newest) { newest = epoch; best = table }; table = ""; epoch = 0 }
	NF < 8 { next }
	{
		gsub(/myself,|,fail\??/, "", $3)
		if ($2 ~ ":" port "@") {
			if ($3 == "master" && NF == 8) { $3 = "slave"; $4 = partner }
			$3 = "myself," $3
		}
		$5 = 0; $6 = 0; $8 = "connected"
		table = table $0 "\n"
		if ($7 > epoch) epoch = $7
	}
	END {
		if (epoch > newest) { newest = epoch; best = table }
		printf "%svars currentEpoch %d lastVoteEpoch %d\n", best, newest, newest
	}' /data/seen-by-nobody /data/seen-by-[0-9]* >/data/nodes.conf
rm /data/seen-by-*
exec sh "${0%/*}/node.sh" --cluster-enabled yes --cluster-node-timeout 2000
