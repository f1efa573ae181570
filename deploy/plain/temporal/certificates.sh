#!/bin/sh
# Makes an authority of your own and the certificates of the Temporal server (server.pem) and of its clients (client.pem), for ten years:
# certificates.sh FOLDER [NAME_OR_ADDRESS…]. The authority's key (ca.key) signs further clients; keep it off the machines.
set -eu
folder=${1:?Usage: certificates.sh FOLDER [NAME_OR_ADDRESS…]}
shift
umask 077
mkdir -p "$folder"
cd "$folder"
names=DNS:temporal,DNS:localhost,IP:127.0.0.1
for name in "$@"; do
  case "$name" in *[!0-9.]*) names=$names,DNS:$name ;; *) names=$names,IP:$name ;; esac
done
[ -f ca.key ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj '/CN=Temporal authority' -keyout ca.key -out ca.pem
for who in server client; do
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=temporal-$who" -keyout "$who.key" -out "$who.csr"
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$names" >"$who.ext"
  openssl x509 -req -in "$who.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile "$who.ext" -out "$who.pem"
  rm "$who.csr" "$who.ext"
done
