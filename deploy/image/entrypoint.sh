#!/bin/sh
# One image, a role by argument. `exec`: the signals of the platform reach Node itself.
set -eu
role=${1:-}
[ $# -gt 0 ] && shift
case "$role" in
  api) exec node dist/api/main.js "$@" ;;
  worker) exec node dist/activities/main.js "$@" ;;
  migrate) exec node dist/ops/migrate.js "$@" ;;
  doctor) exec node dist/ops/doctor/cli.js "$@" ;;
  keys) exec node dist/ops/keys.js "$@" ;;
  reencrypt) exec node dist/ops/reencrypt.js "$@" ;;
  *)
    echo "Say the role: api, worker, migrate, doctor, keys or reencrypt." >&2
    exit 2
    ;;
esac
