# exit 4
# Another apt holds a lock: it is waited for, for each of the locks; in the end the message names who holds it.
mkdir bin
export PATH="$PWD/bin:$PATH" ROCM_PERF_CACHE="$PWD/cache" HOLDS="$PWD/holds"
uplot=cache/uplot-$(sed -n 's/^UPLOT_VERSION=//p' "$SOURCE/setup")
mkdir -p "$uplot" && touch "$uplot/LICENSE" # nothing is fetched
cat >bin/dpkg-query <<'END'
#!/bin/sh
for package; do :; done
[ "$package" = zlib1g-dev ] && [ ! -e installed ] || echo installed
END
cat >bin/apt-get <<'END'
#!/bin/sh
# $HOLDS: how often a lock is held yet. The package is there once the lists were read.
left=$(cat "$HOLDS")
case " $* " in *" update "*) lock=/var/lib/apt/lists/lock ;; *) lock=/var/lib/dpkg/lock-frontend ;; esac
if [ "$left" -gt 0 ]; then
    echo $((left - 1)) >"$HOLDS"
    echo "E: Could not get lock $lock. It is held by process 4711 (unattended-upgr)"
    exit 100
fi
case " $* " in
*" update "*) touch updated; echo 2 >"$HOLDS" ;;
*) [ -e updated ] && touch installed || { echo "E: Unable to locate package"; exit 100; } ;;
esac
END
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
printf '#!/bin/sh\necho "slept $1" >>slept\n' >bin/sleep
chmod +x bin/*
mkdir tools && cp "$SOURCE/setup" . && cp "$SOURCE/tools/common.sh" tools
echo 2 >holds
./setup --packages
echo "exit $?, $(wc -l <slept) times slept"
rm -f installed slept
echo 1000 >holds
./setup --packages
status=$?
echo "$(wc -l <slept) times slept"
exit $status
