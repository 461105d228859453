# exit 2
mkdir folder; rocm-perf profile ./folder
