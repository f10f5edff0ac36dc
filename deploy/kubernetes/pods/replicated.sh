#!/bin/sh
# Starts one of a master and its replicas on $PORT. $1: its own address; $2 and $3: the first master's address and port.
# A pod is started again, and is empty then: as the master it would empty its replicas. So it asks $SENTINELS, if there
# are any, which node is the master. One that names this node and knows replicas has not noticed the loss yet.
own=$1 master=$2 port=$3
ask() {
	for sentinel in $SENTINELS; do
		said=$(env -u REDISCLI_AUTH timeout 1 redis-cli -h "${sentinel%:*}" -p "${sentinel#*:}" sentinel master lab 2>/dev/null | paste - - | awk '
			$1 == "ip" { ip = $2 } $1 == "port" { port = $2 } $1 == "num-slaves" { replicas = $2 } END { if (replicas != "") print ip, port, replicas }')
		[ -n "$said" ] && return
	done
	return 1
}
while ask; do
	# shellcheck disable=SC2086 # three words
	set -- $said
	master=$1 port=$2
	[ "$master:$port" = "$own:$PORT" ] && [ "$3" -gt 0 ] || break
	echo "this node was the master, and has lost its data: it waits until the sentinels have promoted another"
	sleep 0.5
done
set -- --replica-announce-ip "$own" --replica-announce-port "$PORT"
[ "$master:$port" = "$own:$PORT" ] || set -- "$@" --replicaof "$master" "$port"
exec sh /lab/node.sh "$@"
