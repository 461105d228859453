# exit 2
echo data >file; rocm-perf profile ./file
