# Two threads launch into one stream; the one that enters its call later rings first, each time. The path is the order on the device: 60 us of each kernel.
rocm-perf analyze "$SOURCE/tests/data/kineto/two_threads.json" | sed -n '/^Critical path/,/^[^ ]* *%/p'
