# exit 1
# Names with all that GitHub and Markdown could take for their own.
cd "$SOURCE/tests/data/compare"
sed 's/reduce(float\*)/a\\n::error::%25<script>|@x `y`/' after.json >"$OLDPWD/hostile.json"
sed 's/reduce(float\*)/a\\n::error::%25<script>|@x `y`/' before.json >"$OLDPWD/before.json"
cd - >/dev/null
rocm-perf compare --markdown before.json hostile.json --gate 'runtime<=2' --gate 'kernel:@x:runtime<=0.5'
rocm-perf compare --github before.json hostile.json --gate 'kernel:gemm:runtime<=1.02' --gate 'runtime<=2' --gate 'cv<=0' | grep ::
exit "${PIPESTATUS[0]}"
