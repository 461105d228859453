# Shared by setup, demo and check. Sourced, not run.

say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$1" >&2; exit "${2:-4}"; }

cache_dir() {
    if [ -n "${ROCM_PERF_CACHE:-}" ]; then printf '%s\n' "$ROCM_PERF_CACHE"
    elif [ -n "${XDG_CACHE_HOME:-}" ]; then printf '%s/rocm-perf-lab\n' "$XDG_CACHE_HOME"
    elif [ -n "${HOME:-}" ]; then printf '%s/.cache/rocm-perf-lab\n' "$HOME"
    else printf '%s/.cache/rocm-perf-lab\n' "$(getent passwd "$(id -u)" | cut -d: -f6)"
    fi
}

# Prints the folder of an installed ROCm 7, if there is one.
installed_rocm() {
    local root version roots
    # The same places in the same order as src/run/machine.c: $ROCM_PATH alone when it is set.
    if [ -n "${ROCM_PATH:-}" ]; then roots=("$ROCM_PATH")
    else roots=(/opt/rocm $(ls -d /opt/rocm-7* 2>/dev/null | sort -rV)); fi
    for root in "${roots[@]}"; do
        [ -r "$root/.info/version" ] && [ -e "$root/lib/libhsa-runtime64.so.1" ] || continue
        version=$(cat "$root/.info/version")
        case $version in 7.*) printf '%s\n' "$root"; return 0 ;; esac
    done
    return 1
}

private_rocm() { printf '%s/rocm\n' "$(cache_dir)"; }

# Folder of the ROCm user space in use; fails when there is none.
rocm_in_use() {
    if [ -n "${ROCM_PATH:-}" ] && [ -r "$ROCM_PATH/.rocm-perf-prefix" ]; then
        printf '%s\n' "$ROCM_PATH"
        return 0
    fi
    installed_rocm && return 0
    [ -z "${ROCM_PATH:-}" ] && [ -r "$(private_rocm)/.rocm-perf-prefix" ] && private_rocm
}

# build_progress SECONDS: passes a build's lines on, and says how far it is: each of ninja's lines on
# a terminal, elsewhere its count that often.
build_progress() {
    local line next=$((SECONDS + $1))
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in \[*/*\]*) ;; *) continue ;; esac
        if [ -t 2 ]; then
            printf '\r\033[K%.*s' $((${COLUMNS:-80} - 1)) "$line" >&2
        elif [ "$SECONDS" -ge "$next" ]; then
            say "  ${line%%]*}]"
            next=$((SECONDS + $1))
        fi
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

# build_tree DIR [cmake options]: configures once and builds, all or $BUILD_TARGET. With
# $BUILD_PROGRESS says every so many seconds how far it is.
build_tree() {
    local dir=$1 generator=(-G Ninja)
    shift
    [ -e "$dir/CMakeCache.txt" ] && generator=() # one made by hand keeps its own
    cmake -S . -B "$dir" "${generator[@]}" "$@" >"$dir.log" 2>&1 &&
        cmake --build "$dir" -j "$(nproc)" ${BUILD_TARGET:+--target "$BUILD_TARGET"} 2>&1 |
            if [ -n "${BUILD_PROGRESS:-}" ]; then build_progress "$BUILD_PROGRESS"; else cat; fi >>"$dir.log" && return 0
    tail -n 40 "$dir.log" >&2
    die "the build in $dir failed; the whole log is $dir.log" 4
}
