#!/bin/sh
# Entry point of the test image: the part of the official PostgreSQL image's interface that the tests use.
# POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, POSTGRES_INITDB_ARGS and PGDATA; arguments go to the server.
set -eu

PGDATA=${PGDATA:-/var/lib/postgresql/data}
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA" /run/postgresql
    chown postgres:postgres "$PGDATA" /run/postgresql
    chmod 0700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
export PGDATA
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    user=${POSTGRES_USER:-postgres}
    if [ -z "${POSTGRES_PASSWORD:-}" ]; then
        echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
        exit 1
    fi
    (umask 077 && printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password)
    # shellcheck disable=SC2086  # several arguments in one variable are the interface
    initdb --no-instructions --username="$user" --pwfile=/tmp/password --auth=scram-sha-256 \
        ${POSTGRES_INITDB_ARGS:-} >/dev/null
    rm /tmp/password
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    database=${POSTGRES_DB:-$user}
    if [ "$database" != postgres ]; then
        printf 'CREATE DATABASE "%s";\n' "$database" | postgres --single -F postgres >/dev/null
    fi
fi
[ "${1:-}" != postgres ] || shift
exec postgres -c listen_addresses='*' "$@"
