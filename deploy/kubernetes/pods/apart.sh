#!/bin/sh
# Gives each master of the cluster of $NODES a replica on another node of Kubernetes, as far as there are other nodes. Then it stays.
# redis-cli has chosen the replicas by address, and each pod has an address of its own. Each server announces the name of its node of
# Kubernetes as its hostname. NOT guaranteed: that it stays so after a failover.
set -e
lines=$(for node in $NODES; do
	timeout 2 redis-cli -h "${node%:*}" -p "${node#*:}" cluster nodes | awk '$3 ~ /myself/ { print; found = 1 } END { exit !found }'
done)
moves=$(echo "$lines" | awk '
	function shared(a, b, c) { return (on[m[1]] == on[r[a]]) + (on[m[2]] == on[r[b]]) + (on[m[3]] == on[r[c]]) }
	function follow(i, a) { if (of[r[a]] != m[i]) print ip[r[a]], port[r[a]], m[i] }
	{ split($2, at, /[:@,]/); ip[$1] = at[1]; port[$1] = at[2]; on[$1] = at[4] }
	$3 ~ /master/ { m[++masters] = $1 }
	$3 ~ /slave/ { r[++replicas] = $1; of[$1] = $4 }
	END {
		if (masters != 3 || replicas != 3) { print masters + 0 " masters and " replicas + 0 " replicas: none is moved" >"/dev/stderr"; exit }
		for (i = 1; i <= 3; i++) now += on[r[i]] == on[of[r[i]]]
		for (a = 1; a <= 3; a++) for (b = 1; b <= 3; b++) if (b != a && shared(a, b, 6 - a - b) < now) {
			now = shared(a, b, 6 - a - b); first = a; second = b
		}
		if (first) { follow(1, first); follow(2, second); follow(3, 6 - first - second) }
	}')
[ -z "$moves" ] || echo "$moves" | while read -r ip port master; do
	echo "$ip:$port follows $master, which is on another node"
	timeout 2 redis-cli -e -h "$ip" -p "$port" cluster replicate "$master"
done
exec sleep infinity
