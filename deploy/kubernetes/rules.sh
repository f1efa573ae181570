#!/bin/sh
# Prints deploy/prometheus/alerts.yml as the resource of Managed Prometheus: rules.sh | kubectl apply -f -
set -eu
cat <<END
apiVersion: monitoring.googleapis.com/v1
kind: Rules
metadata: { name: agent-session, namespace: agent-session }
spec:
END
sed 's/^/  /' "$(dirname "$0")/../prometheus/alerts.yml"
