#!/bin/sh
# usage: completion.sh PROGRAM CMDS_DEF OUT
# Writes the completion for bash, made of what PROGRAM COMMAND --help explains.
set -eu
exec >"$3"
commands=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$2" | tr '\n' ' ')

# Lines such as "  --device D, --threads N   as of ..." and "  -o DIR  where ...".
options() {
    "$1" "$2" --help | awk '
        /^$/ { explained = 1 }
        !explained || !/^ +-/ { next }
        {
            sub(/^ +/, "")
            # A word such as -dirty at the beginning of a line is none.
            while (match($0, /^(--[a-z][-a-z0-9]*|-[a-z])/) && substr($0, RLENGTH + 1) ~ /^( |,|$)/) {
                if (!seen[substr($0, 1, RLENGTH)]++)
                    printf " %s", substr($0, 1, RLENGTH)
                $0 = substr($0, RLENGTH + 1)
                if (!sub(/^( [^ ]+)?, /, ""))
                    break
            }
        }'
}

cat <<EOF
# Completion of rocm-perf for bash; made by src/cli/completion.sh.
_rocm_perf() {
    local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} words=

    COMPREPLY=()
    case " \${COMP_WORDS[*]:0:COMP_CWORD} " in
        *' -- '*) return ;; # the program's own words
    esac
    if [ "\$COMP_CWORD" = 1 ]; then
        words='$commands--help --version'
    elif [ "\$before" = --device ]; then
        words='auto gpu software'
    elif [ "\$before" = --timing ]; then
        words='off fast detailed'
    elif [ "\${word#-}" != "\$word" ]; then
        case \${COMP_WORDS[1]} in
EOF
for command in $commands; do
    [ "$command" = hipcc ] || printf "            %s) words='%s' ;;\n" "$command" "$(options "$1" "$command" | sed 's/^ //')"
done
cat <<'EOF'
        esac
    fi
    [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _rocm_perf rocm-perf rocm-perf-lab
EOF
