#!/bin/sh
# cargo with the crates that Debian ships (librust-serde-json-dev) where they are installed, else those of crates.io:
#
#     ./build.sh                 cargo build --release
#     ./build.sh test            any other cargo command
#
# An implementation that needs more crates than Debian has sets KVCONFORM_CRATES=crates.io.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- build --release
folder=/usr/share/cargo/registry
if [ "${KVCONFORM_CRATES:-debian}" = debian ] && ls "$folder"/serde_json-* >/dev/null 2>&1; then
    command=$1
    shift
    exec cargo "$command" --config 'source.crates-io.replace-with = "debian"' \
        --config "source.debian.directory = \"$folder\"" "$@"
fi
exec cargo "$@"
