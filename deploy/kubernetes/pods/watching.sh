#!/bin/sh
# Starts a sentinel on $PORT, with the arguments of sentinel.sh. One that starts again asks the others which node is the
# master now: the first may be gone for ever.
own=$1
shift
for sentinel in $SENTINELS; do
	# shellcheck disable=SC2046 # two words
	now=$(env -u REDISCLI_AUTH timeout 1 redis-cli -h "${sentinel%:*}" -p "${sentinel#*:}" sentinel get-master-addr-by-name lab 2>/dev/null | paste -sd' ')
	case $now in [0-9]*.*' '[0-9]*) set -- ${now} && break ;; esac
done
exec sh /lab/sentinel.sh "$own" "$@"
