#!/bin/sh
# Form of the Terraform files; `terraform init && terraform validate` need the registry of providers.
set -eu
cd "$(dirname "$0")"
exec terraform fmt -check -diff
