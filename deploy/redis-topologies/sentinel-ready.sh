#!/bin/sh
# Healthy: each sentinel has a quorum, sees the two others and three replicas, and they agree on a master that takes writes.
masters=
for sentinel in $SENTINELS; do
	ask() { env -u REDISCLI_AUTH timeout 1 redis-cli -h "${sentinel%:*}" -p "${sentinel#*:}" sentinel "$@" 2>&1; }
	quorum=$(ask ckquorum lab)
	case $quorum in OK*) ;; *) echo "$sentinel: $quorum"; exit 1 ;; esac
	seen=$(ask master lab | paste - - | awk '
		$1 == "num-slaves" { replicas = $2 } $1 == "num-other-sentinels" { others = $2 } END { print replicas, others }')
	[ "$seen" = "3 2" ] || { echo "$sentinel sees (replicas, other sentinels): $seen; wanted are 3 2"; exit 1; }
	masters="$masters$(ask get-master-addr-by-name lab | paste -sd:)
"
done
master=$(printf %s "$masters" | sort -u)
[ "$(printf %s "$masters" | sort -u | wc -l)" -eq 1 ] || { echo "the sentinels name different masters:" $master; exit 1; }
answer=$(timeout 1 redis-cli -h "${master%:*}" -p "${master#*:}" set locklab_ready yes px 1000 2>&1)
[ "$answer" = OK ] || { echo "the master $master does not take writes: $answer"; exit 1; }
echo "three sentinels agree on the master $master, which takes writes"
