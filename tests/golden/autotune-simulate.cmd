# A small part of a recorded space is searched, and the same seed searches in the same way.
space=$SOURCE/tests/data/tune/made.json
rocm-perf autotune --simulate "$space" --seed 11 --plot plot.svg --export-t4 t4.json
rocm-perf autotune --simulate "$space" --seed 11 --quiet
python3 -c 'import xml.dom.minidom as m; s = m.parse("plot.svg"); print(len(s.getElementsByTagName("circle")) - 2, "points")'
# what is exported can be searched as well
gzip -c t4.json >t4.json.gz
rocm-perf autotune --simulate t4.json.gz --max-fraction 0.5 --quiet
# a copy that cannot be written does not cost the result
rocm-perf autotune --simulate "$space" --seed 11 --quiet --export-t4 /dev/full || echo "status $?"
