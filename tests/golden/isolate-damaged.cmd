cp -r "$SOURCE/tests/data/capture/chase" .
try() { "$@"; echo "exit $?"; }
printf x | dd of=chase/memory/pages.bin bs=1 seek=2000 conv=notrunc status=none
try rocm-perf isolate inspect chase | tail -n 1
try rocm-perf isolate verify chase
cp -r "$SOURCE/tests/data/capture/chase" unlisted
rm unlisted/kernel.hsaco
sed -i s/kernel.hsaco/kernarg.bin/ unlisted/checksums.json
try rocm-perf isolate verify unlisted
rm -r unlisted
rm chase/memory/region_7ee3b6a04000.bin
try rocm-perf isolate inspect chase
try rocm-perf isolate --list
rm chase/checksums.json chase/dispatch.json
try rocm-perf isolate verify --json chase
try rocm-perf isolate inspect nowhere
try rocm-perf isolate --list nowhere
