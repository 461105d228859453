# Who may read and write what the commands leave, whole folders of it, whatever the umask is: captures and
# sessions are for their owner alone, results for nobody else to write, and what is there keeps its mode.
. "$(dirname "$0")/../lib.sh"
example quiet
cp "$SOURCE/tests/e2e/programs/quiet.hip" .
cp "$SOURCE/tests/data/edition1/cost.sh" "$SOURCE/tests/data/edition1/cost-space.json" .

# has FOLDER FILES FOLDERS: each file and each folder in it, and itself, has that mode.
has() {
    local wrong count
    count=$(find "$1" -type f | wc -l)
    [ "$count" -ge 1 ] || fail "$1 has no files"
    wrong=$(find "$1" -type f ! -perm "$2" -printf '%m %p\n' -o -type d ! -perm "$3" -printf '%m %p\n')
    [ -z "$wrong" ] || fail "umask $(umask), not $2 and $3: $wrong"
}
# owner_only FOLDER: so for captures and sessions; what the compiler made may be run.
owner_only() {
    local wrong
    [ "$(find "$1" -type f | wc -l)" -ge 2 ] || fail "$1 has no files"
    wrong=$(find "$1" -perm /077 -printf '%m %p\n' -o -type d ! -perm 0700 -printf '%m %p\n' -o \
        -type f ! -perm 0600 ! -perm 0700 -printf '%m %p\n')
    [ -z "$wrong" ] || fail "umask $(umask), others may use: $wrong"
}
mode_is() {
    local file wanted=$1
    shift
    for file; do
        [ "$(stat -c %a "$file")" = "$wanted" ] || fail "umask $(umask): $file has $(stat -c %a "$file") instead of $wanted"
    done
}

tune=(rocm-perf autotune --space cost-space.json --cmd-template 'sh cost.sh {A} {B}' --output-regex 'cost ([0-9]+)'
    --max-fraction 0.1 --repeats 1:1 --warmup 0)
optimize=(rocm-perf optimize ./quiet --source quiet.hip --device software --timing detailed --max-iters 1 --max-rounds 1
    --check 'cmp -s result.txt expected.txt')
expect 7 rocm-perf run --device software ./quiet 7
cp result.txt expected.txt

for mask in 000 022 077; do
    umask $mask
    file=$(printf %o $((0664 & ~0$mask))) folder=$(printf %o $((0775 & ~0$mask)))
    mkdir $mask
    expect 0 rocm-perf profile --device software --runs 2 --timing counts --deep-analysis -o $mask/profile ./quiet 0
    has $mask/profile $file $folder
    expect 5 rocm-perf profile --device software --runs 1 -o $mask/failing ./quiet 7
    [ -d $mask/failing/failed ] || fail "no folder of the run that failed"
    has $mask/failing $file $folder
    expect 0 rocm-perf analyze -o $mask/made/analysis $mask/profile
    has $mask/made $file $folder
    expect 0 rocm-perf report -o $mask/page.html $mask/profile
    expect 0 rocm-perf report --format csv -o $mask/kernels.csv $mask/profile
    mode_is $file $mask/page.html $mask/kernels.csv
    expect 0 rocm-perf history add --db $mask/history.db $mask/profile
    mode_is "$(printf %o $((0644 & ~0$mask)))" $mask/history.db
    expect 0 rocm-perf isolate --kernel column_sums --device software -o $mask/deep/capture ./quiet 0
    owner_only $mask/deep
    expect 0 "${tune[@]}" -o $mask/deep/tuned
    owner_only $mask/deep/tuned
done

# A session's folder, and what is written beside the source: as the source.
umask 000
chmod 640 quiet.hip
expect 0 "${optimize[@]}" -o new/session -- 7
says out '1 accepted'
owner_only new
mode_is 640 quiet.hip quiet_opt.hip quiet_opt.patch

# Folders and files that are there keep their modes, with the umask that takes the most and the one that takes
# nothing; nothing is made for more than they are.
for mask in 000 077; do
    umask 022
    for there in captures tuned profile; do
        mkdir -m 751 $mask/there-$there
    done
    for there in history.db page.html kernels.csv; do
        chmod 604 $mask/$there
    done
    chmod 640 $mask/made/analysis/*
    umask $mask
    expect 0 rocm-perf isolate --kernel column_sums --device software --no-self-check -o $mask/there-captures/one ./quiet 0
    expect 0 "${tune[@]}" -o $mask/there-tuned
    expect 0 rocm-perf profile --device software --runs 1 --timing counts -o $mask/there-profile ./quiet 0
    mode_is 751 $mask/there-{captures,tuned,profile}
    owner_only $mask/there-captures/one
    [ -z "$(find $mask/there-tuned -type f -perm /077)" ] || fail 'others may read a session'
    expect 0 rocm-perf report -o $mask/page.html $mask/profile
    expect 0 rocm-perf report --format csv -o $mask/kernels.csv $mask/profile
    expect 0 rocm-perf history add --db $mask/history.db $mask/there-profile
    mode_is 604 $mask/history.db $mask/page.html $mask/kernels.csv
    expect 0 rocm-perf analyze -o $mask/made/analysis $mask/profile
    [ -z "$(find $mask/made/analysis -type f ! -perm 640)" ] || fail "$(ls -l $mask/made/analysis)"
    chmod 640 $mask/there-profile/*
    expect 0 rocm-perf profile --device software --runs 1 --timing counts -o $mask/there-profile ./quiet 0
    [ -z "$(find $mask/there-profile -type f ! -perm 640)" ] || fail "$(ls -l $mask/there-profile)"
done
echo passed
