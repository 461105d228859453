# exit 2
touch source.hip
printf '#!/bin/sh\n' >program
chmod +x program
rocm-perf profile './program 1 2'
rocm-perf profile './missing 1 2'
rocm-perf profile ./source.hip
rocm-perf profile source.hip
rocm-perf profile .
rocm-perf profile program
