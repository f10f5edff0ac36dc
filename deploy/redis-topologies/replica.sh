#!/bin/sh
# Starts a replica on $OWN:$PORT. $1 and $2: the first master's address and port; $3 on: the sentinels, if there are any, as address:port.
# It follows the master that a sentinel names. A promoted replica is that master itself: as a replica of the first one, which
# follows it, it would leave the topology without a master.
master=$1:$2
shift 2
if [ "$TOPOLOGY" = sentinel ]; then
	named=$(for sentinel in "$@"; do
		env -u REDISCLI_AUTH timeout 1 redis-cli -h "${sentinel%:*}" -p "${sentinel#*:}" sentinel get-master-addr-by-name lab 2>/dev/null | paste -sd: &
	done
	wait)
	named=$(echo "$named" | grep -m 1 '^[0-9.]*:[0-9]*$')
	master=${named:-$master}
fi
set --
[ "$master" = "$OWN:$PORT" ] || set -- --replicaof "${master%:*}" "${master#*:}"
exec sh "${0%/*}/node.sh" "$@"
