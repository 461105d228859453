cp -r "$SOURCE/tests/data/capture/chase" .
rocm-perf isolate --list
rocm-perf isolate --list chase
rocm-perf isolate inspect chase
rocm-perf isolate inspect --json chase
rocm-perf isolate verify chase
rocm-perf isolate verify --json chase
ln -s chase $'ch\xffse'
rocm-perf isolate inspect --json $'ch\xffse' | head -3
