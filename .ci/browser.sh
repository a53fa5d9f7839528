# shellcheck shell=bash
# Sourced, not run: makes the tests marked "browser" possible where that can be done, and never fails.
#
#     source .ci/browser.sh
#
# As root on a Debian-like machine it installs Chromium where there is none. It sets PLSQLBENCH_REQUIRE_BROWSER=1
# when there is one: from then on a browser test fails where it would have been skipped.

plsqlbench_find_browser() {
    local name
    for name in "${PLSQLBENCH_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
        [ -n "$name" ] && command -v "$name" && return 0
    done
    return 1
}

plsqlbench_install_browser() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null 2>&1
    apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1
}

plsqlbench_find_browser >/dev/null || plsqlbench_install_browser || true
if plsqlbench_browser=$(plsqlbench_find_browser) && timeout 60 "$plsqlbench_browser" --version >/dev/null 2>&1; then
    export PLSQLBENCH_REQUIRE_BROWSER=1 PLSQLBENCH_CHROMIUM=$plsqlbench_browser
    echo "browser tests: on, with $plsqlbench_browser"
else
    echo 'browser tests: skipped, no Chromium is installed and it cannot be'
fi
