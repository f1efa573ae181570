#!/bin/sh
# Looks at an image that is built: size, user, start, memory, read-only root, licences, list of contents (SBOM). inspect.sh IMAGE [FOLDER];
# writes sbom.cdx.json into FOLDER. Needs docker; DOCKER_RUN are further options of `docker run`. Fails on what must not be.
set -eu
image=${1:?Usage: inspect.sh IMAGE [FOLDER]}
folder=${2:-.}
run() { docker run --rm ${DOCKER_RUN:-} --read-only --tmpfs /tmp:size=64m --cap-drop ALL --security-opt no-new-privileges "$@"; }
say() { printf '%-24s %s\n' "$1" "$2"; }
user=$(docker image inspect --format '{{.Config.User}}' "$image")
say size "$(($(docker image inspect --format '{{.Size}}' "$image") / 1048576)) MiB unpacked"
say user "$user"
[ "$user" = 1000:1000 ] || { echo 'the image does not run as 1000:1000' >&2; exit 1; }
say node "$(run --entrypoint node "$image" --version)"
say app "$(run --entrypoint du "$image" -sm /app | cut -f1) MiB, of it node_modules $(run --entrypoint du "$image" -sm /app/node_modules | cut -f1) MiB"
owned=$(run --entrypoint find "$image" / -xdev -user 1000 -not -path '/home/*' -not -path '/tmp*' -not -path '/proc/*' 2>/dev/null | head -5)
[ -z "$owned" ] || { echo "files belong to the user of the service: $owned" >&2; exit 1; }
say 'files of its user' none
setuid=$(run --entrypoint find "$image" / -xdev -perm /6000 -type f 2>/dev/null | wc -l)
say 'setuid and setgid files' "$setuid (no-new-privileges takes their effect)"
began=$(date +%s%N)
status=0
said=$(run "$image" api 2>&1) || status=$?
say 'start without settings' "exit code $status after $((($(date +%s%N) - began) / 1000000)) ms, container included: $(echo "$said" | grep -c '^  - ') settings named"
echo "$said" | grep -q 'DATABASE_URL must be set' || { echo "$said" >&2; exit 1; }
run --entrypoint sh "$image" -c 'touch /app/x 2>/dev/null' && { echo 'the root is writable' >&2; exit 1; }
say 'read-only root' kept
run --interactive --entrypoint node "$image" --input-type=module - <"$(dirname "$0")/contents.mjs" >"$folder/sbom.cdx.json"
packages=$(grep -c '"purl": "pkg:npm/' "$folder/sbom.cdx.json")
say 'list of contents' "$packages npm packages, $(grep -c '"purl": "pkg:deb/' "$folder/sbom.cdx.json") Debian packages"
licences=$(sed -n 's/.*"expression": "\(.*\)".*/\1/p' "$folder/sbom.cdx.json" | sort | uniq -c | sort -rn)
say 'licences of npm packages' "$(echo "$licences" | sed 's/^ *//' | tr '\n' ',' | sed 's/,$//; s/,/, /g')"
copyleft=$(echo "$licences" | grep -E 'GPL|SSPL|BUSL|Commons' | grep -v ' OR ' || true)
[ -z "$copyleft" ] || { echo "licences to look at: $copyleft" >&2; exit 1; }
[ "$(echo "$licences" | awk '{ n += $1 } END { print n }')" = "$packages" ] || say 'without a licence field' "$((packages - $(echo "$licences" | awk '{ n += $1 } END { print n }')))"
