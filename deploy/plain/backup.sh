#!/bin/sh
# Dumps the databases of the service and of Temporal into a folder of their time, and notes the end for the alert BackupIsOld:
# deploy/plain/backup.sh /var/backups/agent-session-service. Each night: agent-session-backup.timer.
# DATABASE_URL and TEMPORAL_DATABASES (addresses, separated by blanks; may be empty) say what; KEEP_DAYS (14) how long.
set -eu
target=${1:?Usage: backup.sh FOLDER}
umask 077
folder=$target/$(date -u +%Y-%m-%dT%H-%M-%SZ)
mkdir -p "$folder.part"
for url in $DATABASE_URL ${TEMPORAL_DATABASES:-}; do
  # The name of the database: after the last slash, without parameters.
  name=${url##*/}
  name=${name%%\?*}
  pg_dump --format=custom --compress=6 --file "$folder.part/$name.dump" "$url"
  # A dump that cannot be read is none.
  pg_restore --list "$folder.part/$name.dump" >/dev/null
done
mv "$folder.part" "$folder"
find "$target" -mindepth 1 -maxdepth 1 -type d -name '20*Z' -mtime "+${KEEP_DAYS:-14}" -exec rm -rf {} +
metrics=${TEXTFILE_DIR:-/var/lib/prometheus/node-exporter}
if [ -d "$metrics" ]; then
  umask 022
  printf '# HELP agent_session_backup_end_seconds When the newest backup ended well.\n# TYPE agent_session_backup_end_seconds gauge\nagent_session_backup_end_seconds %s\n' \
    "$(date +%s)" >"$metrics/agent_session_backup.prom.$$"
  mv "$metrics/agent_session_backup.prom.$$" "$metrics/agent_session_backup.prom"
fi
du -sh "$folder"
