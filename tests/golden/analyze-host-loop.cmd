# The host makes all gaps between kernels, as 75 us after each synchronisation: they are no delay of the stream. A host's gain is no more than the GPU allows.
rocm-perf analyze -v "$SOURCE/tests/data/kineto/host_loop.json" | grep -vE '^ *Next|^Kernels by'
sed 's/"dur": 10.0/"dur": 60.0/' "$SOURCE/tests/data/kineto/host_loop.json" >busy.json && rocm-perf analyze -v busy.json | grep -E 'expect|host took no time'
