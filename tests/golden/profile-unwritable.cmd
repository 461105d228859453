# exit 4
echo text >result; rocm-perf profile --device software -o result/x /bin/true
