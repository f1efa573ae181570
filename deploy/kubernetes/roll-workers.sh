#!/bin/sh
# Rolls out one build of the workers: starts it beside the older ones, makes it the version of all turns, and removes each
# older build once Temporal calls it drained, some minutes later. Run it again to remove builds that had not drained yet.
#
#   deploy/kubernetes/roll-workers.sh BUILD sha256:DIGEST
#
# Needs kubectl and the temporal CLI with TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TEMPORAL_API_KEY.
set -eu
build=${1:?Usage: roll-workers.sh BUILD sha256:DIGEST}
digest=${2:?Usage: roll-workers.sh BUILD sha256:DIGEST}
name=agent-session
namespace=agent-session
here=$(dirname "$0")

sed -e "s/BUILD/$build/g" -e "s/sha256:DIGEST/$digest/g" "$here/worker.yaml" | kubectl apply -f -
kubectl -n "$namespace" rollout status "deployment/worker-$build" --timeout=10m
temporal worker deployment set-current-version --deployment-name "$name" --build-id "$build" --yes

for deployment in $(kubectl -n "$namespace" get deployments -l app=worker -o name); do
  old=${deployment#*/worker-}
  [ "$old" != "$build" ] || continue
  status=$(temporal worker deployment describe-version --deployment-name "$name" --build-id "$old" --output json)
  case "$status" in
    *'"drainageStatus": "drained"'* | *'"drainageStatus":"drained"'*)
      kubectl -n "$namespace" delete deployment,poddisruptionbudget,scaledobject -l "app=worker,build=$old"
      ;;
    *) echo "worker-$old is not drained yet: it stays. Run this script again later." ;;
  esac
done
