# A kernel that was stopped is not "no kernel", and not a result either.
. "$(dirname "$0")/../lib.sh"
example refused
expect 5 rocm-perf profile --device software --runs 1 ./refused
says err 'rocm-perf-device: kernel _Z7refusedv: '
says err 'no kernel of ./refused came to its end (1 did not)'
[ ! -e .rocpd_profile/profile.json ] || fail 'a result was written'
