#!/usr/bin/env bash
# Build the PostgreSQL image of the docker tests from Debian packages alone: no container registry is asked.
#
# usage: tests/docker/build-image.sh [TAG]      needs root, docker and mmdebstrap
set -euo pipefail
tag=${1:-plsqlbench-test/postgres:debian}
suite=${DEBIAN_SUITE:-bookworm}
here=$(cd "$(dirname "$0")" && pwd)
recipe=$(cat "$here"/*.sh | sha256sum | cut -c1-12)

# The PATH has one entry for each major version a suite may hold.
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for major in 15 16 17 18 19; do path=/usr/lib/postgresql/$major/bin:$path; done

mmdebstrap --quiet --variant=essential --include=postgresql --format=tar \
    --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --essential-hook='mkdir -p "$1/etc/postgresql-common"' \
    --essential-hook='echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"' \
    --customize-hook="copy-in $here/entrypoint.sh /usr/local/bin" \
    --customize-hook='chmod 0755 "$1/usr/local/bin/entrypoint.sh"' \
    "$suite" - |
    docker import \
        --change "ENV PATH=$path" \
        --change 'ENTRYPOINT ["/usr/local/bin/entrypoint.sh"]' \
        --change 'EXPOSE 5432' \
        --change "LABEL plsqlbench.recipe=$recipe" \
        - "$tag" >/dev/null
echo "built $tag"
