#!/bin/sh
# Takes out of a production node_modules what no process of the image loads: Temporal's core for other platforms than
# $1, and maps and types, which only compilers and editors read.
set -eu
cd "$(dirname "$0")/../../node_modules"
for release in @temporalio/core-bridge/releases/*; do
  [ "$(basename "$release")" = "$1" ] || rm -rf "$release"
done
find . -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
