# exit 3
# Results of another model of time are another series: which says where it begins, and how many results it lacks.
data=$SOURCE/tests/data/compare
for n in 1 2; do
    sed "s/3\\.0,/3.0$n,/; s/3\\.0\$/3.0$n/" "$data/software.json" >fast.json
    rocm-perf history add --commit "fast$n" --at "2026-11-0${n}T00:00:00Z" fast.json
done
sed 's/"model": "fast"/"model": "detailed"/; s/3\.0,/9.0,/; s/3\.0$/9.0/' "$data/software.json" >detailed.json
rocm-perf history add --commit detailed1 --at 2026-11-03T00:00:00Z detailed.json
rocm-perf history check
sed 's/9\.0,/9.1,/; s/9\.0$/9.1/' detailed.json >later.json
rocm-perf history add --commit detailed2 --at 2026-11-04T00:00:00Z later.json
rocm-perf history check
rocm-perf history check -v | head -6
# The refusal names what makes the base again.
rocm-perf compare fast.json detailed.json
