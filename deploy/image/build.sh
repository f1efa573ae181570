#!/bin/sh
# Builds the image on base images named by digest and pushes it: deploy/image/build.sh REGISTRY/agent-session-service:TAG
# Prints the digest that the manifests take. Needs docker with buildx.
set -eu
image=${1:?Usage: build.sh REGISTRY/agent-session-service:TAG}
cd "$(dirname "$0")/../.."
tag=$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)
base=$(docker buildx imagetools inspect "$tag" --format '{{json .Manifest.Digest}}' | tr -d '"')
metadata=$(mktemp)
trap 'rm -f "$metadata"' EXIT
docker buildx build --pull --push --provenance=mode=max --sbom=true \
  --build-arg "NODE_IMAGE=$tag@$base" --tag "$image" --metadata-file "$metadata" .
sed -n 's/.*"containerimage.digest": "\(sha256:[0-9a-f]*\)".*/\1/p' "$metadata"
