#!/bin/sh
# HAProxy's external check: succeeds if the server takes writes. HAProxy passes its own address, then the server's: $3 and $4.
# CHECK_USER needs no rights, only a login.
export PGCONNECT_TIMEOUT=2
answer=$(psql --no-psqlrc --no-password --tuples-only --no-align --host "$3" --port "$4" \
  --username "${CHECK_USER:-haproxy}" --dbname "${CHECK_DATABASE:-postgres}" --command 'SELECT pg_is_in_recovery()' 2>&1)
case "$answer" in
  f) exit 0 ;;
  # A server without a free connection lives, and cannot say what it is. If HAProxy has connections to it, it was the primary at the check
  # before: a failed check would cut all of them.
  *'too many clients'* | *'remaining connection slots'*) [ "${HAPROXY_SERVER_CURCONN:-0}" -gt 0 ] ;;
  *) exit 1 ;;
esac
