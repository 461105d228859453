# exit 4
# ./setup where there is no apt: what is missing is named in the distribution's words; when nothing is, it goes on. On Debian
# somebody who may install nothing is told at once what to ask for. Compiler and tools are stand-ins.
mkdir bin tools
export ROCM_PERF_CACHE="$PWD/cache" SETUP_OS_RELEASE="$PWD/os-release"
uplot=cache/uplot-$(sed -n 's/^UPLOT_VERSION=//p' "$SOURCE/setup")
mkdir -p "$uplot" && touch "$uplot/LICENSE" # nothing is fetched
cp "$SOURCE/setup" . && cp "$SOURCE/tools/common.sh" tools
for command in awk bash cat chmod dirname env grep head id mkdir mktemp readlink rm sed; do ln -s "$(command -v $command)" bin/; done
for command in cmake make pkg-config; do printf '#!/bin/sh\n' >bin/$command; done
# It has all headers but two.
printf '#!/bin/sh\nread -r line\ncase $line in *jansson.h*|*xxhash.h*) exit 1 ;; esac\n' >bin/gcc
chmod +x bin/{cmake,make,pkg-config,gcc}
PATH=$PWD/bin
try() { ./setup --packages; echo "exit $?"; }
for release in 'ID="rhel" ID_LIKE="fedora"' 'ID=rocky ID_LIKE="rhel centos fedora"' 'ID="ol" ID_LIKE="fedora"' 'ID=fedora' \
    'ID="sles" ID_LIKE="suse"' 'ID="opensuse-leap" ID_LIKE="suse opensuse"' 'ID=arch' 'ID=ubuntu ID_LIKE=debian' 'ID=alpine' 'ID=gentoo'; do
    sed 's/ ID_LIKE/\nID_LIKE/' <<<"$release" >os-release
    echo "$release"
    try
done
echo 'nothing is missing'
printf '#!/bin/sh\nread -r line\n' >bin/gcc
printf '#!/bin/sh\n' >bin/ninja && chmod +x bin/ninja
try
echo 'Debian, neither root nor sudo'
printf 'ID=debian\n' >os-release
rm bin/id
printf '#!/bin/sh\necho 1000\n' >bin/id
printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query
printf '#!/bin/sh\necho "apt-get was called: $*"\n' >bin/apt-get
chmod +x bin/{id,dpkg-query,apt-get}
try
echo 'and with a compiler that lacks a header'
printf '#!/bin/sh\nread -r line\ncase $line in *zstd.h*) exit 1 ;; esac\n' >bin/gcc
./setup --packages
