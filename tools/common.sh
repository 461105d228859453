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

# --- which ROCm: before the build, the order and the rules of src/run/rocm.h; tests/unit/run/test_rocm.c compares them

private_rocm() { printf '%s/rocm\n' "$(cache_dir)"; }

# library_fits FILE NAME SYMBOL...: a library for x86-64 of that soname that has these symbols.
library_fits() {
    local file=$1 word
    shift
    case $(od -An -v -tx1 -N20 "$file" 2>/dev/null | tr -d ' \n') in 7f454c4602*3e00) ;; *) return 1 ;; esac
    for word; do LC_ALL=C grep -qaF -- "$word" "$file" || return 1; done
}

# rocm_fits ROOT: programs can run on it.
rocm_fits() {
    local root=$1 folder
    if [ -e "$root/.rocm-perf-prefix" ]; then # ./setup made it, and its programs hold its path
        grep -qFx "path $(cd "$root" && pwd -P)" "$root/.rocm-perf-prefix" || return 1
        root=$root/usr
    fi
    for folder in lib lib64 lib/x86_64-linux-gnu; do
        [ -e "$root/$folder/libamdhip64.so.7" ] || [ -L "$root/$folder/libamdhip64.so.7" ] || continue
        library_fits "$root/$folder/libamdhip64.so.7" libamdhip64.so.7 __hipRegisterFatBinary hipLaunchKernel hipRuntimeGetVersion &&
            library_fits "$root/$folder/libhsa-runtime64.so.1" libhsa-runtime64.so.1 hsa_init hsa_queue_create \
                hsa_amd_profiling_get_dispatch_time hsa_amd_vmem_address_reserve
        return
    done
    return 1
}

highest_first() { ls -d "$@" 2>/dev/null | sort -rV || true; }

# rocm_wheels PREFIX: folders of the packages rocm-sdk-devel and rocm-sdk-core of a Python.
rocm_wheels() {
    local folder package
    for folder in "$1"/lib{,64}/python3*/site-packages "$1"/{,local/}lib/python3*/dist-packages; do
        for package in devel core; do highest_first "$folder/_rocm_sdk_$package"*; done
    done
}

# rocm_candidates [SYSTEM]: folders to look at, in their order. SYSTEM: /opt and /usr are below that folder.
rocm_candidates() {
    local system=${1:-} name path
    if [ -n "${ROCM_PATH:-}" ]; then
        printf '%s\n' "$ROCM_PATH"
        highest_first "$ROCM_PATH"/core
        highest_first "$ROCM_PATH"/core-*
        return 0
    fi
    [ -z "${VIRTUAL_ENV:-}" ] || rocm_wheels "$VIRTUAL_ENV"
    [ -z "${CONDA_PREFIX:-}" ] || rocm_wheels "$CONDA_PREFIX"
    printf '%s\n' "$system/opt/rocm"
    highest_first "$system"/opt/rocm/core
    highest_first "$system"/opt/rocm/core-*
    highest_first "$system"/opt/rocm-[0-9]*
    printf '%s\n' "$system/usr"
    for name in python3 rocm-sdk; do
        path=$(command -v "$name") || continue
        rocm_wheels "${path%/*/*}"
        path=$(readlink -f "$path")
        rocm_wheels "${path%/*/*}"
    done
    [ -z "${HOME:-}" ] || rocm_wheels "$HOME/.local"
    private_rocm
}

# Folder of the ROCm user space in use; fails when there is none.
rocm_in_use() {
    local root lib
    while IFS= read -r root; do
        # What rocm-perf tells programs is a folder inside of the private one.
        if [ -L "$root/.rocm-perf-prefix" ]; then root=$(dirname "$(readlink -f "$root/.rocm-perf-prefix")"); fi
        rocm_fits "$root" || continue
        # The packages of ROCm 10 make /opt/rocm/lib a link into /opt/rocm/core-10.0.
        lib=$(readlink -f "$root/lib")
        if [ -L "$root/lib" ] && [ ! -e "$root/.rocm-perf-prefix" ] && [ "${lib##*/}" = lib ]; then root=${lib%/lib}; fi
        printf '%s\n' "$root"
        return 0
    done < <(rocm_candidates "$@")
    return 1
}

# The same, unless ./setup made it.
installed_rocm() {
    local root
    root=$(rocm_in_use) && [ ! -e "$root/.rocm-perf-prefix" ] && printf '%s\n' "$root"
}

# build_progress SECONDS: passes a build's lines on, and says how many of its steps are done and how long it still takes:
# in a line that changes on a terminal, elsewhere that often.
build_progress() {
    local line next=$((SECONDS + $1)) began=$SECONDS counts text
    while IFS= read -r line; do
        printf '%s\n' "$line"
        counts=${line%%]*}
        case $line in \[[0-9]*/[0-9]*\]*) counts=${counts#[} ;; *) continue ;; esac
        text="built ${counts%/*} of ${counts#*/} files"
        [ $((SECONDS - began)) -lt 3 ] ||
            text+=", about $(((SECONDS - began) * (${counts#*/} - ${counts%/*}) / ${counts%/*} + 1)) s left"
        if [ -t 2 ]; then
            printf '\r\033[K%s' "$text" >&2
        elif [ "$SECONDS" -ge "$next" ]; then
            say "  $text"
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
