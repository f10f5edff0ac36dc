#!/bin/sh
# Says where the lab is and what comes next, when everything is ready, and stays: `up --wait` takes an end for a failure.
cat <<END
The lab is up over Redis $TOPOLOGY: $URL
The live page: $URL/ui/
In another terminal:
  docker compose run --rm burst           sends the requests of the demo
  docker compose down --remove-orphans    takes everything down
END
exec sleep infinity
