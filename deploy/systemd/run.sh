#!/bin/sh
# Runs a command of the image (migrate, doctor, keys, …) with the settings and the user of the units. Needs root.
set -eu
cd "$(dirname "$0")/../.."
set -a
. "${SERVICE_SETTINGS:-/etc/agent-session-service.env}"
set +a
# The user's own: the Temporal client looks for its configuration there.
HOME=$PWD
user=${SERVICE_USER:-agent-session}
exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups sh deploy/image/entrypoint.sh "$@"
