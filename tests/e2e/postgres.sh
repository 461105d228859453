# A PostgreSQL server of Debian's package on the loopback interface, with its data in a folder of its own. Sourced behind
# lib.sh. It ends the script with 77, for skipped, where the package is not there.
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$postgres_bin/initdb" ] || { echo "skipped: there is no PostgreSQL server; apt install postgresql"; exit 77; }
command -v psql >/dev/null || { echo "skipped: there is no psql; apt install postgresql-client"; exit 77; }

# The server does not run as root, so root lends it to the user of the package.
postgres_as() {
    if [ "$(id -u)" != 0 ]; then "$@"; else setpriv --reuid postgres --regid postgres --clear-groups -- "$@"; fi
}

PGDATA=
postgres_stop() {
    [ -z "$PGDATA" ] || (cd / && postgres_as "$postgres_bin/pg_ctl" -D "$PGDATA/data" -m immediate stop) >/dev/null 2>&1 || true
    rm -rf "$PGDATA"
}
trap 'postgres_stop; chmod -R u+w "$SCRATCH" 2>/dev/null; rm -rf "$SCRATCH"' EXIT

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# postgres_start PASSWORD: PGPORT is where it listens. Somebody may take the port meanwhile: then again with another.
postgres_start() {
    local try
    PGDATA=$(mktemp -d /tmp/rocm-perf-postgres.XXXXXX)
    printf '%s\n' "$1" >"$PGDATA/password"
    [ "$(id -u)" != 0 ] || chown -R postgres "$PGDATA"
    (cd / && postgres_as "$postgres_bin/initdb" -D "$PGDATA/data" -U owner -A scram-sha-256 --pwfile="$PGDATA/password" \
        --no-sync -E UTF8 --locale=C) >initdb.log 2>&1 || { cat initdb.log >&2; fail "initdb"; }
    for try in 1 2 3 4 5; do
        PGPORT=$(free_port)
        if (cd / && postgres_as "$postgres_bin/pg_ctl" -D "$PGDATA/data" -w -t 120 -l "$PGDATA/log" start -o \
            "-p $PGPORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$PGDATA -c fsync=off -c log_statement=none") \
            >/dev/null 2>&1 7>&-; then
            return
        fi
    done
    cat "$PGDATA/log" >&2
    fail "the server does not come up"
}
