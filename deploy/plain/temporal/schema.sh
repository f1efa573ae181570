#!/bin/sh
# Makes the databases of Temporal and brings them to the schema of this temporal-sql-tool; run it again before a new server version.
# SQL_HOST, SQL_PORT, SQL_USER, SQL_PASSWORD say where (the tool's own names; the user may make databases).
set -eu
tool=${TEMPORAL_SQL_TOOL:-temporal-sql-tool}
for store in temporal visibility; do
  if [ "$store" = temporal ]; then database=${TEMPORAL_DB:-temporal}; else database=${TEMPORAL_VISIBILITY_DB:-temporal_visibility}; fi
  exists=$(PGPASSWORD=$SQL_PASSWORD psql --no-psqlrc --tuples-only --no-align --host "$SQL_HOST" --port "$SQL_PORT" --username "$SQL_USER" \
    --dbname postgres --command "SELECT 1 FROM pg_database WHERE datname = '$database'")
  if [ -z "$exists" ]; then
    "$tool" --plugin postgres12 --database "$database" create-database
    "$tool" --plugin postgres12 --database "$database" setup-schema --version 0.0
  fi
  "$tool" --plugin postgres12 --database "$database" update-schema --schema-name "postgresql/v12/$store"
done
