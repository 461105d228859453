# exit 1
# Names with all that GitHub and Markdown could take for their own.
cd "$SOURCE/tests/data/compare"
sed 's/reduce(float\*)/a\\n::error::%25<script>|@x `y`/' after.json >"$OLDPWD/hostile.json"
sed 's/reduce(float\*)/a\\n::error::%25<script>|@x `y`/' before.json >"$OLDPWD/before.json"
cd - >/dev/null
rocm-perf compare --markdown before.json hostile.json --gate 'runtime<=2' --gate 'kernel:@x:runtime<=0.5'
rocm-perf compare --github before.json hostile.json --gate 'kernel:gemm:runtime<=1.02' --gate 'runtime<=2' --gate 'cv<=0' | grep ::
echo "exit ${PIPESTATUS[0]}"
# What controls a terminal or turns the writing is written out.
sed 's/a\\n::error/\\u001b[31m\\u202e::error/' hostile.json >control.json
sed 's/a\\n::error/\\u001b[31m\\u202e::error/' before.json >before_control.json
rocm-perf compare --github before_control.json control.json --gate 'kernel::runtime<=1' | grep -c '\\x1b\[31m\\u202e%3A%3Aerror\|\\x1b'
rocm-perf compare --github before.json hostile.json --gate 'runtime<=1' >/dev/null
