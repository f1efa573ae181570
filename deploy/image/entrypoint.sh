#!/bin/sh
# One image, a role by argument. `exec`: the signals of the platform reach Node itself.
set -eu
. "$(dirname "$0")/malloc.sh"
role=${1:-}
[ $# -gt 0 ] && shift
case "$role" in
  api) exec node dist/api/main.js "$@" ;;
  worker) exec node dist/activities/main.js "$@" ;;
  sandbox) exec node dist/activities/sandbox/kubernetes/main.js "$@" ;;
  migrate | doctor | keys | turn | top | maintenance | reencrypt | usage) exec node "dist/ops/$role.js" "$@" ;;
  *)
    echo "Say the role: api, worker, sandbox, migrate, doctor, keys, turn, top, maintenance, reencrypt or usage." >&2
    exit 2
    ;;
esac
