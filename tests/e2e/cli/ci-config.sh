# What a configuration of `rocm-perf ci` may say, how a wrong one is refused, and that names and messages are text in all forms.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/ci_repository.sh"

# A tolerance lets numbers differ, and nothing else.
change 's/total += sum;/total += sum * 1.000001f;/'
config ', "limits": {"time": null}, "checks": {"races": false, "uninit": false, "bounds": false}, "tolerance": {"relative": 1e-4}'
ci 0
sed -i 's/rows, total/rows; total/' sums.hip
ci 1
[ "$(outcome output)" = fails ] || fail "tolerance"

# Of binary and of long lines the comment has the place where they differ.
printf '{"version": 1, "programs": [{"name": "p", "command": ["sh", "-c", "exec sh ${PWD##*/}.sh"], "limits": {"time": null}, "checks": {"races": false, "uninit": false, "bounds": false}}]}\n' >rocm-perf.json
echo 'printf "%04000d\\0a\\n" 7' >base.sh
echo 'printf "%04000d\\0b\\n" 7' >head.sh
save places
git tag places
ci 1 --base places
says ../result/comment.md 'base: (from byte 3902 on) 0000'
says ../result/comment.md '0007\x00b'
git reset -q --hard base

# Other inputs than the program's: judge.
change 's/i < n; i += 256/i < 1024; i += 256/'
config ', "limits": {"time": null}, "sources": ["sums.hip"], "flags": "-O3 -g"'
ci 1
[ "$(outcome output) $(outcome kernels)" = "holds fails" ] || fail "kernels"
says ../result/comment.md 'rocm-perf judge refuses its kernels: `sums.hip: wrong: '
# The same mistake is none where the head never launches the kernel as the base did, which judge does.
sed -i 's/<<<count, 256>>>/<<<count, 128>>>/; s/half = 128/half = 64/; s/i < 1024; i += 256/i < n; i += (int)blockDim.x/' sums.hip
ci 0
[ "$(outcome output) $(outcome kernels)" = "holds skipped" ] || fail "workgroups of another size: $(outcome kernels)"
says ../out 'note: sums: not judged: the head launches it with another grid, workgroup or dynamic LDS than base'

# Files that it writes; an output that is never the same twice.
no_checks='"checks": {"races": false, "uninit": false, "bounds": false}, "limits": {"time": null}'
files() { printf '{"version": 1, "timing": "counts", "build": "%s", "programs": [{"name": "sums", "command": ["sh", "-c", "%s"], "outputs": ["result.txt"], %s}]}\n' "$builder" "$1" "$no_checks" >rocm-perf.json; }
files './sums >result.txt'
git checkout -q base -- sums.hip && git reset -q
ci 0
change 's/sum += in/sum = in/'
ci 1
says ../result/comment.md '`sums`: its output is not that of base: `result.txt, line 1`'
files '[ ! -e .gitignore ] || ./sums >result.txt; ./sums'
git checkout -q base -- sums.hip && git reset -q
rm .gitignore
ci 1
says ../result/comment.md 'head: there is no such file'
git checkout -q base -- .gitignore
files './sums; date +%N >result.txt'
change 's/float sum = 0;/float sum = 0.0f;/'
ci 6
[ "$(outcome output)" = undecided ] || fail "an output that is never the same"

# A kernel that is gone, and a condition of one's own.
config ', "checks": {"races": false, "uninit": false, "bounds": false}, "gates": ["kernel:line_sums:vgprs<=1", "kernel:row_sums:runtime<=1.02"]'
change 's/row_sums/line_sums/'
ci 1
[ "$(outcome 'kernel:row_sums:runtime<=1.02')" = fails ] || fail "a condition of a kernel that is gone"
says ../result/comment.md '`sums`: a kernel of base does not run any more ("allow_missing": true in the configuration accepts that): `row_sums('
says ../result/comment.md ', limit 1: `line_sums('
config ', "checks": {"races": false, "uninit": false, "bounds": false}, "allow_missing": true, "sources": ["sums.hip"], "limits": {"traffic": 2}, "gates": ["kernel:line_sums:vgprs<=before"]'
ci 0
says ../result/comment.md '| skipped | not judged: the head does not launch it any more: `sums.hip: row_sums('
[ "$(outcome time) $(outcome traffic) $(outcome 'kernel:line_sums:vgprs<=before')" = "holds skipped skipped" ] || fail "a new kernel has no base"
says ../result/comment.md '| skipped | nothing to compare with: the base has no such kernel: `line_sums('

# A program that only the head has.
git reset -q --hard base
config "$quick"
sed -i 's|\]}*$|, {"name": "more", "command": ["./more"]}]}|; s|"programs"|"limits": {"time": null}, "programs"|' rocm-perf.json
ci 1 --build "$builder"
says ../out "more: it does not run as it should: its program is not there after the build"
touch new
ci 0 --build "$builder"' && { [ ! -e new ] || cp sums more; }'
says ../result/comment.md '`more` | `output` | skipped | nothing to compare with: the base has no such program'
rm new

# What names and messages say is text everywhere.
python3 - "$builder" <<'END'
import json, sys
json.dump({"version": 1, "build": sys.argv[1], "limits": {"time": None}, "checks": {"races": False, "uninit": False, "bounds": False},
           "programs": [{"name": "a|b `c` <img src=x> @all %0A::error::", "command": ["./sums"]}]}, open("rocm-perf.json", "w"))
END
change 's/%d rows/| ``` <img src=x> @all ::error::x \& %d rows/'
GITHUB_ACTIONS=true ci 1
[ "$(grep -c '^::' ../out)" = 1 ] || { cat ../out; fail "workflow commands"; }
grep '^::' ../out | grep -q '%250A' || { cat ../out; fail "a name is a command"; }
python3 - <<'END' || fail "markup in the comment"
import re
text = open("../result/comment.md", encoding="utf-8").read()
text = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.M | re.S)
text = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
assert "img" not in text and "@" not in text, text
END
sed -i '1i #error <img src=x> | @all ``` ::error::x' sums.hip
ci 1
says ../result/codequality.json '"path":"sums.hip","lines":{"begin":1}'

# A wrong configuration is one error, with the key and what to write.
refused() {
    printf '%s\n' "$1" >rocm-perf.json
    ci 2
    [ "$(wc -l <../err)" = 1 ] || { cat ../err; fail "more than one line"; }
    says ../err "$2"
}
refused '{"version": 1}' 'rocm-perf.json: programs: they are missing: name at least one, as [{"name": "mm"'
refused '{"version": 1, "programs": []}' 'programs: there are none: name at least one'
refused '{"programs": [{"name": "a", "command": ["x"]}]}' 'version: it is missing: write "version": 1'
refused '{"version": 2, "programs": []}' 'version: 2 is out of range'
refused '{"version": 1, "programs": [{"name": "a", "command": "./a"}]}' 'programs[0].command: it must be a list of texts'
refused '{"version": 1, "programs": [{"command": ["./a"]}]}' 'programs[0].name: it is missing'
refused '{"version": 1, "programs": [{"name": "a", "command": ["./a"], "limits": {"tme": 1}}]}' 'programs[0].limits.tme: there is no such key, did you mean time?'
refused '{"version": 1, "programs": [{"name": "a", "command": ["./a"], "limits": {"time": -1}}]}' 'programs[0].limits.time: -1 is out of range'
refused '{"version": 1, "programs": [{"name": "a", "command": ["./a"], "gates": ["speed<=1"]}]}' "programs[0].gates: --gate speed<=1: nothing is called 'speed'"
refused '{"version": 1, "programs": [{"name": "a", "command": ["./a"], "gates": ["vgprs<=8", "vgprs<=8"]}]}' 'programs[0].gates: vgprs<=8 is there twice'
refused '{"version": 1, "programs": [{"name": "a", "command": ["./a"], "outputs": ["../x"]}]}' 'programs[0].outputs: ../x is no path in the repository'
refused '{"version": 1, "programs": [{"name": "a", "command": ["./a"]}, {"name": "a", "command": ["./b"]}]}' 'programs[1].name: two programs are called a'
refused '{"version": 1, "device": "tpu", "programs": [{"name": "a", "command": ["./a"]}]}' 'device: '
refused '{"version": 1,' 'line 2, column 0: no JSON'
rm rocm-perf.json
ci 2
says ../err "rocm-perf.json is not there: write one"
git checkout -q base -- .
ci 2 --base nothing
says ../err "nothing is no commit of this repository: give a branch"
GIT_TEST_ASSUME_DIFFERENT_OWNER=1 rocm-perf ci --base base >../out 2>../err && fail "another user's repository"
says ../err "the repository is another user's; git reads it after: git config --global --add safe.directory $PWD"
mkdir bin
ci 2 -o .
says ../err "--output .: it has files that are none of this command's"
rmdir bin || fail "a folder of the user's"
expect 2 rocm-perf ci
says err "--base"
rm out err
(cd .. && expect 2 rocm-perf ci --base base && says err "not a git repository")

# What runs no kernel has no races, but nobody has looked.
git reset -q --hard base
printf '{"version": 1, "programs": [{"name": "sums", "command": ["true"], "limits": {"time": null}}]}\n' >rocm-perf.json
ci 6
[ "$(outcome output) $(outcome races)" = "holds undecided" ] || fail "no kernel: gates"
says ../out "no finding that base has not, but no kernel ran"

# Files that are not there were not looked at; one that only the head has is new.
cp sums.hip new.hip
named() { printf '{"version": 1, "programs": [{"name": "sums", "command": ["true"], "outputs": ["%s"], "sources": ["%s", "new.hip"], %s}]}\n' "$1" "$2" "$no_checks" >rocm-perf.json; }
named reslut.txt smus.hip
ci 6
[ "$(outcome output) $(outcome kernels)" = "undecided undecided" ] || fail "files that are not there: gates"
says ../result/comment.md 'neither base nor head writes this file of its outputs: `reslut.txt`'
says ../result/comment.md 'not all of its sources are there: `smus.hip: neither base nor head has it`'
named .gitignore sums.hip
ci 6
[ "$(outcome kernels)" = skipped ] || fail "a new source"
rm new.hip
