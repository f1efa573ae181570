#!/bin/sh
# HAProxy's external check: succeeds if the server takes writes. HAProxy passes its own address, then the server's: $3 and $4.
# CHECK_USER needs no rights, only a login.
exec 2>/dev/null
export PGCONNECT_TIMEOUT=2
answer=$(psql --no-psqlrc --no-password --tuples-only --no-align --host "$3" --port "$4" \
  --username "${CHECK_USER:-haproxy}" --dbname "${CHECK_DATABASE:-postgres}" --command 'SELECT pg_is_in_recovery()') || exit 1
[ "$answer" = f ]
