#!/bin/sh
# Checks the form of the Terraform files, and validates them with Google's provider, which Go builds from its module proxy:
# five minutes the first time. The registry of providers is not needed. What belongs to Temporal Cloud is left out, because
# its provider is not at the module proxy.
set -eu
cd "$(dirname "$0")"
terraform fmt -check -diff

provider=github.com/hashicorp/terraform-provider-google
version=v1.20.1-0.20260828184646-f3721fb45fa3 # 7.x, main of 2026-08-28: the module has no tags that Go can name
bin=${XDG_CACHE_HOME:-$HOME/.cache}/agent-session-service/$version
if [ ! -x "$bin/terraform-provider-google" ]; then
  echo "Building $provider $version"
  source=$(cd "${TMPDIR:-/tmp}" && go mod download -json "$provider@$version" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
  (cd "$source" && go build -ldflags='-s -w' -gcflags='all=-N -l' -o "$bin/terraform-provider-google" .)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp ./*.tf "$work"
cd "$work"
rm temporal.tf
sed -i.all -e '/temporalcloud = {/,/}/d' -e '/^provider "temporalcloud"/d' versions.tf
cat >rc <<END
provider_installation {
  dev_overrides { "hashicorp/google" = "$bin" }
  direct {}
}
END
TF_CLI_CONFIG_FILE=rc terraform validate
