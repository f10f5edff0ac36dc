#!/bin/sh
# Replaces each argument @NAME or @NAME:PORT by the address of that Service, and becomes the command. Redis tells its peers
# and clients addresses, and a Service keeps its address when its pod is replaced.
domain=$(awk '$1 == "search" { print $2 }' /etc/resolv.conf) # without it, a pod's own name is its own address and not its Service's
left=$#
while [ "$left" -gt 0 ]; do
	argument=$1
	shift
	case $argument in
	@*)
		name=${argument#@} port=
		case $name in *:*) port=:${name#*:} name=${name%%:*} ;; esac
		until address=$(getent ahostsv4 "$name.$domain" | awk 'NR == 1 { print $1 }') && [ -n "$address" ]; do
			echo "no address of $name yet" >&2
			sleep 0.5
		done
		argument=$address$port
		;;
	esac
	set -- "$@" "$argument"
	left=$((left - 1))
done
exec "$@"
