# Completion of sextant for bash. The tool itself knows its verbs and options:
# `sextant --complete` and `sextant VERB --complete` list them, with tabs between
# name, value and help.
_sextant()
{
    local tool=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]}
    local before=${COMP_WORDS[COMP_CWORD-1]} name value help

    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 || ( $verb == help && $COMP_CWORD -eq 2 ) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$tool" --complete 2>/dev/null | cut -f1)" \
                                         -- "$word")
        return
    fi
    if [[ $word == = ]]; then                   # --option=, of which '=' is a word
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    while IFS=$'\t' read -r name value help; do
        [[ $name == "$before" ]] || continue
        case $value in
        *'|'*) [[ $value == *[A-Z]* ]] && break     # NAME|NUMBER: anything
               mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" -- "$word"); return ;;
        FILE) break ;;
        ?*) return ;;
        esac
    done < <("$tool" "$verb" --complete 2>/dev/null | sed 's/\t\t/\t \t/')
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$tool" "$verb" --complete 2>/dev/null |
                                               cut -f1)" -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _sextant sextant
