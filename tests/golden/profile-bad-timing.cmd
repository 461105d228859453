# exit 2
rocm-perf profile --timing exact ./app
