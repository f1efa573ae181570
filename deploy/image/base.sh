#!/bin/sh
# Makes the base image where no registry can be reached: Debian 12 by debootstrap, Node and npm from the npm registry:
# deploy/image/base.sh node:26-bookworm-slim 26.10.0. Needs root, debootstrap, npm and docker. For trying the image; releases build on
# the official one (build.sh).
set -eu
image=${1:?Usage: base.sh IMAGE NODE_VERSION}
version=${2:?Usage: base.sh IMAGE NODE_VERSION}
case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) echo "no Node for $(uname -m)" >&2; exit 1 ;; esac
work=$(mktemp -d)
trap 'umount "$work/root/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
root=$work/root
debootstrap --variant=minbase --include=ca-certificates,libatomic1 bookworm "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/log" || {
  tail -20 "$work/log" >&2
  exit 1
}
# debootstrap may leave it there: below, files are removed.
umount "$root/proc" 2>/dev/null || true
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
cd "$work"
npm pack --silent "node-linux-$arch@$version" "npm@11" >/dev/null
tar -xzf node-linux-*.tgz -C "$work"
install -m 755 package/bin/node "$root/usr/local/bin/node"
rm -rf package
tar -xzf npm-*.tgz -C "$work"
mkdir -p "$root/usr/local/lib/node_modules"
mv package "$root/usr/local/lib/node_modules/npm"
for program in npm npx; do ln -s "../lib/node_modules/npm/bin/$program-cli.js" "$root/usr/local/bin/$program"; done
# Authorities of this machine, such as a proxy's.
set --
if ls /usr/local/share/ca-certificates/*.crt >/dev/null 2>&1; then
  cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
  chroot "$root" update-ca-certificates >/dev/null 2>&1
  set -- --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'
fi
chroot "$root" groupadd --gid 1000 node
chroot "$root" useradd --uid 1000 --gid node --shell /bin/bash --create-home node
tar -C "$root" -c . | docker import "$@" --change 'CMD ["node"]' - "$image"
