# exit 0
# Files that anybody made: none of them is read, run or changed, whatever the command.
data=$SOURCE/tests/data
rocm-perf history add --db good.db --at 2026-11-20T10:00:00Z --commit '' "$data/compare/few.json" >/dev/null
all() {
    cp "$1" before.db
    for command in list show check plot export 'remove 1' "add --commit x $data/compare/after.json"; do
        timeout 20 rocm-perf history ${command%% *} --db "$1" $(echo "$command" | cut -s -d' ' -f2-) >out 2>err
        code=$?
        sed "s/^/${command%% *} exit $code: /" err
        [ ! -s out ] || echo "${command%% *} printed something"
    done
    cmp "$1" before.db
}
for case in history_view_endless history_trigger; do
    cp "$data/cases/$case.db" . && chmod u+w "$case.db" && all "$case.db"
done
# Each further thing of a schema that is not a history's, in a file that is one otherwise.
with() {
    cp good.db "$1.db" && sqlite3 "$1.db" "$2"
    rocm-perf history add --commit x --db "$1.db" "$data/compare/after.json" 2>&1
    echo "$1: exit $?, $(sqlite3 "$1.db" 'select count(*) from result') result"
}
with view 'create view v as select 1'
with temp_like 'create trigger t after delete on times begin delete from result; end'
with table 'create table extra(a)'
with virtual 'create virtual table f using fts5(a)'
with index 'create index i on result(added)'
with expression 'create index i on times(abs(launches))'
with generated 'alter table result add column g as (hash || hash)'
with dropped 'drop table times'
with escape "create table \"$(printf 'x\033[31m\n::error::y')\"(a)"
with orphan "insert into times values(2, 0, null, 0, 1, '[1.0]')"
with number "update result set id = -1; update times set result = -1"
with sequence "update sqlite_sequence set seq = 9223372036854775807"
# A table under the name of ours, with another statement.
sqlite3 other.db "create table result(id integer primary key, hash text default (abs(1)));
    create table times(a); pragma application_id = 1919969385; pragma user_version = 1"
rocm-perf history list --db other.db 2>&1
echo "exit $?"
# No names of files.
for name in '' :memory: file:good.db 'file:new.db?mode=memory'; do
    for command in list 'remove 1' "add $data/compare/few.json"; do
        rocm-perf history ${command%% *} --db "$name" $(echo "$command" | cut -s -d' ' -f2-) 2>&1
        echo "exit $?"
    done
done
rocm-perf history add --db ./file:x --at 2026-11-20T10:00:00Z --commit '' "$data/compare/few.json" >/dev/null && ls file:x
mkdir folder && rocm-perf history list --db folder 2>&1
mkfifo pipe good.db-journal && for file in pipe good.db; do timeout 20 rocm-perf history list --db $file 2>&1; echo "exit $?"; done
# Good files of other kinds are not called damaged, and stay.
echo '<html>good</html>' >page.html && gzip -c good.db >good.db.gz && echo '{}' >file.json && printf SQL >short.txt
for file in page.html good.db.gz file.json short.txt; do
    all "$file"
done
