# shellcheck shell=bash
# Machines in namespaces of one machine, for deploy/kubernetes/engine/cluster, a bash script that reads this file. It sets:
#   group    the control group of all machines
#   net      the first three numbers of the network
#   bridge   the name of its bridge, which has the address $net.1
#   dir      the folder of the run, with the logs, if there is one

# control_groups ends the script when there are none of version 1.
control_groups() {
  [ -d /sys/fs/cgroup/pids ] || { echo "this needs control groups of version 1: boot with systemd.unified_cgroup_hierarchy=0" >&2; exit 69; }
}

eventually() { # SECONDS, what, command…
  local seconds=$1 what=$2 end=$((SECONDS + $1))
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "$what: not after $seconds s; ${dir:+the logs are in $dir}" >&2; exit 1; }
    sleep 0.5
  done
}

# bridged makes the bridge that connects the machines.
bridged() {
  ip link set lo up
  ip link add "$bridge" type bridge
  ip addr add "$net.1/24" dev "$bridge"
  ip link set "$bridge" up
}

machine() { # NAME, NUMBER: its control groups, and a network namespace with a cable to the others
  local name=$1 parent hierarchy
  for hierarchy in /sys/fs/cgroup/*/; do
    [ ! -e "$hierarchy/cgroup.procs" ] || mkdir -p "$hierarchy$group/$name"
  done
  for parent in "$group" "$group/$name"; do # an empty set runs nothing
    cp /sys/fs/cgroup/cpuset/cpuset.cpus "/sys/fs/cgroup/cpuset/$parent/cpuset.cpus" --no-preserve=all
    cp /sys/fs/cgroup/cpuset/cpuset.mems "/sys/fs/cgroup/cpuset/$parent/cpuset.mems" --no-preserve=all
  done
  mkdir -p "/sys/fs/cgroup/pids/$group/$name/system"
  ip netns add "$name"
  ip link add "$name" type veth peer name eth0 netns "$name"
  ip link set "$name" master "$bridge" up
  ip -n "$name" link set lo up
  ip -n "$name" addr add "$net.1$2/24" dev eth0
  ip -n "$name" link set eth0 up
  ip -n "$name" route add default via "$net.1"
}

inside() { # NAME, command…: on that machine
  local name=$1
  shift
  # The group finds the processes again; their children inherit it.
  # shellcheck disable=SC2016 # the inner shell expands it
  bash -c 'echo $$ >"$0" && exec "$@"' "/sys/fs/cgroup/pids/$group/$name/system/cgroup.procs" nsenter --net="/run/netns/$name" "$@"
}

# kill_machine ends a machine as a loss of power does: its network, then each of its processes. One that is forked while the others are
# killed is found the next time.
kill_machine() { # NAME
  local name=$1 seconds=30
  local end=$((SECONDS + seconds))
  ip link set "$name" down
  until dead "$name"; do
    [ $SECONDS -lt $end ] || { echo "$name still has processes after $seconds s:" $pids >&2; exit 1; }
    sleep 0.02
  done
}

# dead kills each process of a machine. It succeeds when there was none.
dead() { # NAME
  # A control group may end while find reads it. Then the list may lack processes, and says nothing.
  pids=$(find "/sys/fs/cgroup/pids/$group/$1" -name cgroup.procs -exec cat {} + 2>/dev/null) && [ -z "$pids" ] && return
  # shellcheck disable=SC2086 # each word is a process
  [ -z "$pids" ] || kill -9 $pids 2>/dev/null || true # one may have ended by itself
  return 1
}

removed() {
  find /sys/fs/cgroup/*/"$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  ! compgen -G "/sys/fs/cgroup/*/$group"
}

clean() { # a process that was killed leaves its group a moment later
  eventually 60 "the control groups are empty" removed
}
