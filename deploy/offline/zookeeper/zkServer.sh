#!/bin/sh
# As in the official image: `zkServer.sh start-foreground` runs the server of /conf/zoo.cfg. ZK_SERVER_HEAP is in MB.
set -e
if [ "${1:-start-foreground}" != start-foreground ]; then
	echo "zkServer.sh: this image knows start-foreground only" >&2
	exit 64
fi
if [ ! -f /conf/zoo.cfg ]; then
	echo "zkServer.sh: /conf/zoo.cfg is missing: mount one" >&2
	exit 64
fi
exec java "-Xmx${ZK_SERVER_HEAP:-1000}m" -cp "/conf:/usr/share/java/*" org.apache.zookeeper.server.quorum.QuorumPeerMain /conf/zoo.cfg
