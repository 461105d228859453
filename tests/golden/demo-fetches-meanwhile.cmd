# exit 4
# ./demo fetches ROCm while it builds: here the fetching waits until the build has begun. Then the same without
# a network. The build, and all that ./setup would do, are stand-ins.
cp -r "$SOURCE/demo" "$SOURCE/tools" .
mkdir examples bin
cp "$SOURCE/examples/vector_add.hip" "$SOURCE/examples/transpose.hip" examples
cat >setup <<'END'
#!/bin/sh
case $1 in
    --print-rocm) exit 4 ;;
    --packages) echo 'setup: packages' >&2 ;;
    --rocm) while [ ! -e begun ]; do sleep 0.1; done
        [ -z "$NO_NETWORK" ] || { echo 'setup: no network' >&2; exit 4; }
        touch fetched ;;
esac
END
cat >bin/cmake <<'END'
#!/bin/sh
[ "$1" = --build ] || exit 0
touch begun
mkdir -p build
printf '#!/bin/sh\necho "$*"; [ -e fetched ]\n' >build/rocm-perf
chmod +x build/rocm-perf
END
chmod +x setup bin/cmake
PATH="$PWD/bin:$PATH"
./demo vector_add
rm -r build begun fetched
NO_NETWORK=1 ./demo vector_add
