# shellcheck shell=bash
# Sourced, not run: makes the tests marked "docker" possible where that can be done, and never fails.
#
#     source .ci/docker.sh
#
# As root on a Debian-like machine it installs what is missing (docker.io, mmdebstrap), starts a daemon where
# none answers, and builds the test image from Debian packages. It sets PLSQLBENCH_REQUIRE_DOCKER=1 when all
# is ready: from then on a docker test fails where it would have been skipped. A daemon started here is
# stopped by plsqlbench_stop_docker. Nothing is pulled from a container registry.

plsqlbench_image=${PLSQLBENCH_DOCKER_IMAGE:-plsqlbench-test/postgres:debian}
plsqlbench_docker_files=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tests/docker" && pwd)
plsqlbench_dockerd=
plsqlbench_docker_log=${TMPDIR:-/tmp}/plsqlbench-dockerd.log

plsqlbench_stop_docker() {
    [ -n "$plsqlbench_dockerd" ] || return 0
    kill -TERM "$plsqlbench_dockerd" 2>/dev/null || true
    wait "$plsqlbench_dockerd" 2>/dev/null || true
    plsqlbench_dockerd=
}

plsqlbench_docker_answers() { timeout 10 docker version >/dev/null 2>&1; }

plsqlbench_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null 2>&1
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

plsqlbench_start_docker() {
    plsqlbench_docker_answers && return 0
    [ -z "${DOCKER_HOST:-}" ] || { echo "docker tests: no daemon answers at $DOCKER_HOST"; return 1; }
    command -v dockerd >/dev/null || plsqlbench_install docker.io ||
        { echo 'docker tests: no Docker daemon, and docker.io cannot be installed'; return 1; }
    plsqlbench_docker_answers && return 0
    [ "$(id -u)" = 0 ] || { echo 'docker tests: no Docker daemon answers, and only root can start one'; return 1; }
    # left by a daemon that was killed; with the number of another live process they would keep ours from starting
    rm -f /var/run/docker.pid /var/run/docker/containerd/containerd.pid
    dockerd >"$plsqlbench_docker_log" 2>&1 &
    plsqlbench_dockerd=$!
    for _ in $(seq 300); do
        plsqlbench_docker_answers && return 0
        kill -0 "$plsqlbench_dockerd" 2>/dev/null || break
        sleep 0.2
    done
    echo 'docker tests: the Docker daemon does not start; its last words:'
    tail -n 5 "$plsqlbench_docker_log"
    plsqlbench_stop_docker
    return 1
}

plsqlbench_build_image() {
    local recipe
    recipe=$(cat "$plsqlbench_docker_files"/*.sh | sha256sum | cut -c1-12)
    [ "$(docker image inspect -f '{{index .Config.Labels "plsqlbench.recipe"}}' "$plsqlbench_image" 2>/dev/null)" \
        != "$recipe" ] || return 0
    command -v mmdebstrap >/dev/null || plsqlbench_install mmdebstrap ||
        { echo 'docker tests: mmdebstrap cannot be installed, so there is no image'; return 1; }
    "$plsqlbench_docker_files/build-image.sh" "$plsqlbench_image" ||
        { echo 'docker tests: the image cannot be built'; return 1; }
}

if plsqlbench_start_docker && plsqlbench_build_image; then
    export PLSQLBENCH_REQUIRE_DOCKER=1 PLSQLBENCH_DOCKER_IMAGE=$plsqlbench_image
    echo "docker tests: on, with $plsqlbench_image"
else
    plsqlbench_stop_docker
    echo 'docker tests: skipped'
fi
