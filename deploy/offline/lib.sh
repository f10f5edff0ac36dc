# What build and usb have in common. They set -euo pipefail, and stand in the repository's root.
# shellcheck shell=bash

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

need() { # COMMAND, how to get it
  command -v "$1" >/dev/null || die "$1 is missing: $2"
}

# Compose and buildx are newer than some engines (Debian 12's is 20.10), and refuse them unless told the engine's API. Only a build needs
# buildx.
find_docker() { # [build]
  need docker "apt-get install docker.io"
  local said
  said=$(docker version 2>&1 && docker buildx inspect 2>&1) || true
  if [[ $said =~ "Maximum supported API version is "([0-9.]+) ]]; then
    export DOCKER_API_VERSION=${BASH_REMATCH[1]}
  fi
  docker version >/dev/null 2>&1 || die "Docker's engine does not answer: $(docker version 2>&1 | tail -1)"
  docker compose version >/dev/null 2>&1 || die "docker has no compose plugin: deploy/offline/README.md says how to get it"
  [[ ${1-} != build ]] || docker buildx version >/dev/null 2>&1 || die "docker has no buildx plugin: deploy/offline/README.md says how to get it"
}

have() { # IMAGE
  docker image inspect "$1" >/dev/null 2>&1
}

size() { # IMAGE
  docker image inspect -f '{{.Size}}' "$1" | mega
}

mega() { # bytes on its input; numfmt is not everywhere
  awk '{ printf "%.0f MB", $1 / 1e6 }'
}

sha() { # as sha256sum, which macOS has under another name
  if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

compose_images() { # all images of the compose files, one a line
  local topology
  for topology in single master-slave sentinel cluster; do
    TOPOLOGY=$topology docker compose --profile load config --images ||
      die "compose does not accept the files for TOPOLOGY=$topology: its reason stands above"
  done | sort -u
}
