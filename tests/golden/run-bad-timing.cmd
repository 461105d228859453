# exit 2
rocm-perf run --timing exact ./app
