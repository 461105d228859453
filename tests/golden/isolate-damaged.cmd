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
for file in kernarg.bin dispatch.json memory/pages.bin memory/region_7ee3b6a04000.bin checksums.json; do
    for kind in mkfifo mkdir; do
        cp -r "$SOURCE/tests/data/capture/chase" other
        rm other/$file
        $kind other/$file
        try timeout 20 rocm-perf isolate verify other
        rm -r other
    done
done
cp -r "$SOURCE/tests/data/capture/chase" more
touch more/after/region_1000.bin
try rocm-perf isolate verify more/
rm -r more
cp -r "$SOURCE/tests/data/capture/chase" edited
sed -i 's/"target_chase/"other_chase/' edited/dispatch.json
try rocm-perf isolate inspect edited
try rocm-perf isolate --list edited
rm -r edited
cp -r "$SOURCE/tests/data/capture/chase" partial
rm partial/checksums.json
try rocm-perf isolate inspect partial
try rocm-perf isolate --list partial
mv partial killed.partial-77
rm killed.partial-77/dispatch.json
try rocm-perf isolate --list killed.partial-77/
try rocm-perf isolate --list | grep -v ^chase
rm -r killed.partial-77
mkdir some
mv chase some/dispatch-10
for where in inspect verify; do try rocm-perf isolate $where some; done
cp -r some/dispatch-10 some/dispatch-9
try rocm-perf replay full-vm --capture-dir some --device software
mv some/dispatch-10 chase
rm -r some
rm chase/memory/region_7ee3b6a04000.bin
try rocm-perf isolate inspect chase
try rocm-perf isolate --list
rm chase/checksums.json chase/dispatch.json
try rocm-perf isolate verify --json chase
try rocm-perf isolate inspect nowhere
try rocm-perf isolate --list nowhere
