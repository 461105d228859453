# A history in PostgreSQL: the same answers as of a file, many writers of which some are killed, what others made of the
# tables, servers that are none, and passwords that nobody sees. The server is of Debian's package, on the loopback interface.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/postgres.sh"
data=$SOURCE/tests/data/compare
postgres_start 's3cret/%1'
password=s3cret%2F%251
db=postgresql://owner:$password@127.0.0.1:$PGPORT/team
shown=postgresql://owner@127.0.0.1:$PGPORT/team
sql() { PGPASSWORD=s3cret/%1 PGOPTIONS='-c client_min_messages=error' psql -qXAt -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PGPORT" -U owner "${2:-team}" -c "$1"; }
sql 'CREATE DATABASE team' postgres
sql 'CREATE DATABASE jobs' postgres

# kept_secret: neither output has the password, in any of its forms.
kept_secret() { ! grep -q 's3cret' out err || fail "a password is printed: $(cat out err)"; }

# --- the same as of a file -----------------------------------------------------------------------------------
expect 3 rocm-perf history list --db "$db"
says err "history $shown: there is none yet"
made() { sed "s/3\.001693/$2/; s/2\.996868/$3/; s/3\.01458/$4/" "$data/few.json" >"$1"; }
for day in 01 02 03 04 05 06 07 08 09 10 11 12 13 14; do
    off=$((10#$day * 7 % 5)) base=3.0
    [ "$day" -lt 13 ] || base=3.1
    made r.json "${base}0$off" "${base}1$off" "${base}05"
    # Some that are added first are the newest.
    at=$day
    [ "$day" -gt 04 ] || at=$((19 - 10#$day))
    for to in file.db "$db"; do
        expect 0 rocm-perf history add --db "$to" --commit "c$day" --program "app $((10#$day % 2)) ü" --config n=64 \
            --at "2026-11-${at}T00:00:00Z" r.json
        cp out "added.${to%%:*}"
        kept_secret
    done
    cmp added.file.db added.postgresql
done
expect 0 rocm-perf history add --db "$db" --commit c14 --program 'app 0 ü' --config n=64 r.json
says out 'result 14, commit c14, was there already'
for to in file.db "$db"; do
    expect 0 rocm-perf history add --db "$to" --at 2026-11-20T00:00:00Z --commit '' --program "$(printf 'x\377y')" "$data/software.json" "$data/after.json"
done
# The byte that is no character is U+FFFD on the server.
for action in list 'list --json' 'list --program app* --limit 2' show 'show --json' 'check --margin 2' 'check -v' 'check --json' plot 'page --margin 2' export 'export --format csv'; do
    for to in file.db "$db"; do
        rocm-perf history $action --db "$to" >"said.${to%%:*}" 2>err && code=0 || code=$?
        echo "exit $code" >>"said.${to%%:*}"
        cp "said.${to%%:*}" out && kept_secret
    done
    sed -i 's/\\u00ff\|\\xff\|\xff/\xef\xbf\xbd/' said.file.db
    sed -e 's/\\ufffd/\xef\xbf\xbd/g' -e "s#postgresql://[^ ]*/team#file.db#" -i said.postgresql said.file.db
    grep -v '"hash"' said.file.db | sed 's/"hash": "[^"]*"//' >a || true
    grep -v '"hash"' said.postgresql | sed 's/"hash": "[^"]*"//' >b || true
    diff a b >&2 || fail "history $action differs"
done
expect 0 rocm-perf history remove 1 16 --db "$db"
expect 2 rocm-perf history remove 2 16 --db "$db"
says err "history $shown: there is no result 16"
[ "$(sql 'SELECT count(*), min(id), max(id) FROM rocm_perf_history.result')" = '14|2|15' ] || fail 'remove'
[ "$(sql 'SELECT count(*) FROM rocm_perf_history.times WHERE result IN (1, 16)')" = 0 ] || fail 'times of removed results'
expect 0 rocm-perf history add --db "$db" --program again "$data/few.json"
says out 'result 17'
expect 0 rocm-perf history list --program none --db "$db"
says err "history $shown: no result of it matches"

# --- many at once --------------------------------------------------------------------------------------------
for to in jobs.db "postgresql://owner:$password@127.0.0.1:$PGPORT/jobs"; do
    python3 "$SOURCE/tests/e2e/history_jobs.py" "$BUILD/rocm-perf" "$to" "$data/few.json" $$ || fail "jobs: ${to%%:*}"
done
[ "$(sql 'SELECT count(*) FROM rocm_perf_history.times' jobs)" = 200 ] || fail 'times of jobs'

# --- what others made ----------------------------------------------------------------------------------------
refused() {
    local action
    sql "BEGIN; $2; COMMIT"
    for action in list check "remove 2" "add $data/after.json"; do
        expect 3 rocm-perf history $action --db "$db"
        says err "history $shown: "
        says err "$3"
        kept_secret
    done
    sql "DROP SCHEMA rocm_perf_history CASCADE"
    expect 0 rocm-perf history add --db "$db" --at 2026-11-20T10:00:00Z --program app "$data/few.json" "$data/few.json"
}
T=rocm_perf_history.times R=rocm_perf_history.result
refused trigger "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM $R; RETURN NEW; END';
    CREATE TRIGGER \"t$(printf '\033')x\" AFTER INSERT ON $T EXECUTE FUNCTION f()" "the trigger 't?x'"
refused rule "CREATE RULE r AS ON INSERT TO $T DO ALSO DELETE FROM $R" "the rule 'r'"
refused policy "CREATE POLICY p ON $T USING (true)" "the policy 'p'"
refused constraint "ALTER TABLE $T ADD CONSTRAINT c CHECK (launches > 0)" "the constraint 'c'"
refused index "CREATE INDEX i ON $T(abs(launches))" "the index 'i'"
refused inherited "CREATE TABLE public.more() INHERITS ($T)" "the inherited table 'more'"
refused view "ALTER TABLE $T RENAME TO u; CREATE VIEW $T AS SELECT * FROM rocm_perf_history.u" "times is not the one"
refused column "ALTER TABLE $R ADD COLUMN more text" "result is not the one"
refused default "ALTER TABLE $R ALTER COLUMN tracer SET DEFAULT random()::text" "result is not the one"
refused type "ALTER TABLE $T ALTER COLUMN launches TYPE text" "times is not the one"
refused gone "DROP TABLE $T" "times is gone"
refused later "COMMENT ON TABLE $R IS 'rocm-perf history, version 2'" "a later rocm-perf has written it (version 2"
refused other "COMMENT ON TABLE $R IS NULL" "is no history of rocm-perf"
# Rows are looked at where they are read.
for row in "UPDATE $T SET runs_ms = '[1, -1]'" "UPDATE $T SET runs_ms = ''" \
    "ALTER TABLE $T DROP CONSTRAINT times_result_fkey; UPDATE $R SET id = DEFAULT; UPDATE $R SET hash = repeat('x', 100)"; do
    sql "$row"
    expect 3 rocm-perf history list --db "$db"
    says err "history $shown: "
    sql "DROP SCHEMA rocm_perf_history CASCADE"
    expect 0 rocm-perf history add --db "$db" --at 2026-11-20T10:00:00Z --program app "$data/few.json"
done

# --- rights --------------------------------------------------------------------------------------------------
sql "CREATE ROLE member LOGIN PASSWORD 'pw2'; CREATE ROLE reader LOGIN PASSWORD 'pw2'"
expect 4 rocm-perf history list --db "postgresql://reader:pw2@127.0.0.1:$PGPORT/team"
says err 'permission denied'
says err 'docs/history.md'
sql "GRANT USAGE ON SCHEMA rocm_perf_history TO member, reader; GRANT SELECT ON $R, $T TO member, reader; GRANT INSERT, DELETE ON $R, $T TO member"
expect 0 rocm-perf history list --db "postgresql://reader:pw2@127.0.0.1:$PGPORT/team"
expect 4 rocm-perf history add --db "postgresql://reader:pw2@127.0.0.1:$PGPORT/team" "$data/after.json"
expect 0 rocm-perf history add --db "postgresql://member:pw2@127.0.0.1:$PGPORT/team" --program m "$data/after.json"
expect 0 rocm-perf history remove 2 --db "postgresql://member:pw2@127.0.0.1:$PGPORT/team"
PGPASSWORD=s3cret/%1 expect 0 rocm-perf history list --db "$shown"

# --- passwords and addresses ---------------------------------------------------------------------------------
for wrong in "postgresql://owner:s3cret@127.0.0.1:$PGPORT/team" "postgresql://owner:$password@127.0.0.1:1/team" \
    "postgresql://owner:$password@127.0.0.1:$PGPORT/none?sslmode=disable&password=s3cret"; do
    expect 4 rocm-perf history list --db "$wrong"
    kept_secret
done
for wrong in "postgresql://owner:s3cret@x@127.0.0.1/team" "postgresql://owner:s3cret/x@127.0.0.1/team" "postgresql:owner:s3cret@h" \
    "POSTGRES://owner:s3cret@h/" "postgresql://owner:100%s3cret@127.0.0.1/team" "postgresql://127.0.0.1/team?pasword=s3cret" \
    "postgresql://owner:s3cret?x/y@h/" "postgresql://s3cret:s3cret:1@h:x/"; do
    for action in list "add $data/few.json" "remove 1" check; do
        expect 2 rocm-perf history $action --db "$wrong"
        kept_secret
    done
done
[ ! -e postgresql: ] || fail 'a folder was made of an address'

# --- servers that are none -----------------------------------------------------------------------------------
# hostile HOW STATUS WORDS: within half a minute
hostile() {
    python3 "$SOURCE/tests/e2e/hostile_postgres.py" "$1" >port 7>&- &
    local pid=$! begin=$SECONDS
    until [ -s port ]; do sleep 0.05; done
    expect "$2" timeout 60 rocm-perf history list --db "postgresql://owner:$password@127.0.0.1:$(cat port)/x?sslmode=disable&gssencmode=disable&connect_timeout=2"
    kill "$pid" 2>/dev/null || true
    wait "$pid" || true
    says err "$3"
    kept_secret
    [ $((SECONDS - begin)) -lt 40 ] || fail "$1: $((SECONDS - begin)) s"
    : >port
}
hostile silent 4 'has not answered in time'
hostile half 4 'server closed the connection'
hostile copy 3 'is no answer'
hostile zero 3 'zero byte'
hostile endless 3 'sends more than 512 MiB'
hostile notices 3 'sends more than 512 MiB'
hostile echo 4 'you said *** and \x1b[31m::error::x'

# --- without libpq -------------------------------------------------------------------------------------------
: >libpq.so.5
LD_LIBRARY_PATH=$SCRATCH expect 4 rocm-perf history list --db "$db"
says err 'apt install libpq5'
kept_secret
LD_LIBRARY_PATH=$SCRATCH expect 0 rocm-perf history list --db file.db
