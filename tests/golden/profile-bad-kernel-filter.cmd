# exit 2
rocm-perf profile --device software --deep-analysis --kernel-include-regex '(' true
rocm-perf profile --device software --deep-analysis --kernel-include-regex '*x' true
rocm-perf profile --device software --deep-analysis --kernel-iteration-range 'x' true
rocm-perf profile --device software --deep-analysis --kernel-iteration-range '[3-1]' true
