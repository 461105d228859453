for what in empty absent_wave truncated_wave wrong_sum cut_short; do
    python3 "$SOURCE/tests/att/gen_att.py" $what 5 $what
    rocm-perf analyze -v $what | sed -n '/^Thread trace/,$p' | head -n 6
done
mkdir ui_output_agent_1_dispatch_2
echo '{"code": [' >ui_output_agent_1_dispatch_2/code.json
rocm-perf analyze -v ui_output_agent_1_dispatch_2
# exit 3
