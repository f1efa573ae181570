#!/bin/sh
# Builds the image of sandbox pods on the service's image and pushes it:
# deploy/image/build-sandbox.sh REGISTRY/agent-session-service@sha256:DIGEST REGISTRY/agent-session-sandbox:TAG
# Prints the digest that deploy/kubernetes/sandbox.yaml takes. Needs docker with buildx.
set -eu
service=${1:?Usage: build-sandbox.sh SERVICE_IMAGE SANDBOX_IMAGE:TAG}
image=${2:?Usage: build-sandbox.sh SERVICE_IMAGE SANDBOX_IMAGE:TAG}
cd "$(dirname "$0")"
metadata=$(mktemp)
trap 'rm -f "$metadata"' EXIT
docker buildx build --pull --push --provenance=mode=max --sbom=true --file sandbox.Dockerfile \
  --build-arg "SERVICE_IMAGE=$service" --tag "$image" --metadata-file "$metadata" .
sed -n 's/.*"containerimage.digest": "\(sha256:[0-9a-f]*\)".*/\1/p' "$metadata"
