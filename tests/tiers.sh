# Which test is in which tier of ./check: the one place where that is said. Sourced, not run.
#
# A test of ctest is in the first tier whose pattern fits its name:
#   night   what is long, and tells little about one change: ./check --night=tests, which runs all of build/
#   quick   all that takes seconds: ./check --quick, and in the other tiers, too
#   drawn   a tenth of them in ./check, which one the seed says
#   full    everything else: ./check. Of what it runs in the sanitizers' build, a tenth runs in build/, too
# What is no test of ctest is in the tier of its own: tests/night/NAME is a part of ./check --night.

# What compiles for a test that needs it (ctest adds it there), programs compiled anew and in many variants, sessions of optimize in every form, the suite built once more.
NIGHT='^((kernels|lang)_.*_compile|kernels_all_counted|cli-(bench-all|optimize-(ends|rounds|files|build|programs|quiet|header|textbook|workgroups)|rocprofv3-ends|candidates|autotune-gemm|readme|documented|deterministic|compiler-cache|targets|profile-limits)|model-optimize-(instances|llama|scripted)|tracer_dispatches_tsan|dag_oracle_(warmcopies|threadsqueues|machines3|rangesmachines|overlapranks|lateranks|warmranks|queues|shuffle|nocorr|nohip|noargs|kinetonoargs))$'

# One room each, which others test in parts: many programs, forms or random kernels, of which each takes its time.
DRAWN='^((kernels|lang)_.*_O[013]|aqlprofile-(counters|thread-trace)-gfx9(50|0a)|cli-(autotune|ci-(config|templates)|call-lines|check|check-replay|code-objects|counters|dependencies|examples|failed-launches|founding|install|isolate|isolate-memories|isolate-select|judge|judge-sealed|library-targets|modes|optimize|optimize-killed|orders|other-gpu|pc-sampling|progress|python|ranks|recorded-part|replay|replay-counters|replay-memories|rocm-releases|rocprofv3|running-process|selftest|selftest-fails|thread-trace|threads-share-queues|timing)|setup-mirror|dag_(clocks|fuzz|json_trace|traps)|device_(dma_huge|fault_waits)|diff_O[0123]|diff_(known_.*|notices)|frameworks_tinygrad|isa_threads(_gfx90a)?|mcp-(raw|eval-[0-9]+)|model-proposer-guarded|optimize_textbook|planted_mended|timing_engine|tune-(slurm|worker))$'

# Programs of this suite alone, in one process or a few.
SLOW='^(planted_(mended|tenth)|aqlprofile-|frameworks_tinygrad|cli-|model-|device_|kernels_|lang_|diff_|tune-|tool-|tool_compile|mcp-|html_|dag_|att_|analysis_|man_help|occupancy_llvm|code_objects_llvm|report_others)|_tsan$|^(optimize_(candidate_check|kernel_code|propose|session_accept)|replay_ab_test|compare|history|timing_engine|jit_translate|lane|isa_mfma|isa_mem_rows|capture|tracer_abi)$'
# And the shortest way through profile, analyze, report, isolate and replay.
ALSO_QUICK='^(cli-(profile-result|no-graph|doctor)|device_(compile_)?vadd|kernels_vadd_O3(_compile)?|dag_schema4)$'

# ctest_of TIER: options of ctest that choose its tests. (That of the sanitizers is asked with their TIERS_BUILD.)
ctest_of() {
    case $1 in
        sanitized) printf '%s\n' -LE fuzz -E "$NOT_SANITIZED|$(undrawn "$DRAWN|$DRAWN_SANITIZED")" ;;
        # With -R in front, what a test needs to be compiled first is added though -E has its name.
        full) printf '%s\n' -R . -E "$NIGHT|$(undrawn "$DRAWN")|$(undrawn "$(sanitized_names | pattern)")" ;;
        quick) printf '%s\n' -R "$(quick_names)" ;;
    esac
}

names() { ctest --test-dir "${1:-${TIERS_BUILD:-build}}" -N | sed -nE 's/^ *Test +#[0-9]+: //p'; }

# pattern: of the names that it reads
pattern() { printf '^(%s)$' "$(paste -sd'|')"; }

# What the full tier runs in the sanitizers' build, which is there before the tests of build/ begin.
sanitized_names() {
    names build-sanitize | grep -vE "^fuzz-|$NOT_SANITIZED|$(TIERS_BUILD=build-sanitize undrawn "$DRAWN|$DRAWN_SANITIZED")"
}

# undrawn PATTERN: nine tenths of what is drawn: in the order that the seed gives them, the first ones.
undrawn() {
    local drawn
    mapfile -t drawn < <(names | grep -E "$1" |
        while read -r name; do printf '%s %s\n' "$(md5sum <<<"$RP_SEED $name")" "$name"; done | sort | sed 's/.* //')
    printf '%s\n' "${drawn[@]:0:${#drawn[@]} * 9 / 10}" | pattern
}

# ctest has one pattern to choose by; the names that fit are made one.
quick_names() {
    names |
        while read -r name; do
            if [[ ! $name =~ $ALSO_QUICK && ($name =~ $NIGHT || $name =~ $DRAWN) ]]; then continue; fi
            if [[ ! $name =~ $SLOW || $name =~ $ALSO_QUICK ]]; then printf '%s|' "$name"; fi
        done | sed -E 's/^(.*)\|$/^(\1)$/'
}

# Left out of the sanitizers' build in the full tier: what runs mostly programs that are not instrumented, and what is a
# generator's work. --night=sanitizers runs all but cli-compiler-cache. (Of the scripts of the command line, either has
# what tests/e2e/cli/CMakeLists.txt says of sanitizers.)
NOT_SANITIZED='^(cli-(autotune|bench|call-lines|check|code-objects|counters|debug-log|dependencies|doctor|edition1|examples|full-disk|isolate|never-flatters|optimize.*|orders|pc-sampling|profile-.*|progress|replay|rocprofv3|scripts-and-children|selftest.*|thread-trace|wallclock|compiler-cache|session)|tune-|dag_oracle_|dag_traps|dag_clocks|analysis_times|dag_json_trace|analysis_again|model-proposer|man_help|isa_(threads|directions|clocks|timing|counters).*|timing_engine|dag_fuzz|mcp-(raw|eval))'

# Of the rest, and of DRAWN, a tenth in the full tier, which one the seed says: what takes long with sanitizers and
# checks numbers rather than memory. --night=sanitizers runs all of it.
DRAWN_SANITIZED='^(isa_(gemm|lane_kernels|mfma|scaled|translated)|jit_translate|optimize_(candidate_check|kernel_code|propose)|rocpd_(faults|read)|setup_openpgp|tune_(search|strategies))$'

# How long on two idle processors of the kind that docs/contributing.md names, with what was compiled before in the
# caches, and with empty ones: shown at the start until a tier has run here.
minutes_of() {
    case $1 in
        quick) echo "about 2 minutes (10 with empty caches)" ;;
        full) echo "about 12 minutes (23 with empty caches)" ;;
        night) echo "at most 60 minutes for each part" ;;
    esac
}
