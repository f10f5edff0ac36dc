#!/bin/sh
# Says where the lab is and what comes next, when everything is ready, and stays: `up --wait` takes an end for a failure.
[ "$INSTANCES" = 2 ] && page="The live page: $URL/ui/" || page="$INSTANCES instances, and no live page"
cat <<END
The lab is up over Redis $TOPOLOGY: $URL
$page
In another terminal:
  docker compose run --rm k6      compares v1 to v4 under 666 users; jmeter or burst in place of k6
  docker compose down             takes everything down
END
exec sleep infinity
