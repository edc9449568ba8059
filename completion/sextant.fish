# Completion of sextant for fish. The tool itself knows its verbs and options:
# `sextant --complete` and `sextant VERB --complete` list them, with tabs between
# name, value and help.
function __sextant_complete
    set -l words (commandline -opc)
    set -l now (commandline -ct)
    if test (count $words) -eq 1; or test "$words[2]" = help
        $words[1] --complete 2>/dev/null | string replace -r '\t[^\t]*\t' \t
        return
    end
    set -l list ($words[1] $words[2] --complete 2>/dev/null)
    for line in $list
        set -l part (string split \t -- $line)
        if test "$part[1]" = "$words[-1]"; and test -n "$part[2]"
            if string match -q '*|*' -- $part[2]; and not string match -qr '[A-Z]' -- $part[2]
                string split '|' -- $part[2]
            else
                __fish_complete_path $now
            end
            return
        end
    end
    if string match -q -- '-*' $now
        printf '%s\n' $list | string replace -r '\t[^\t]*\t' \t
    else
        __fish_complete_path $now
    end
end
complete -c sextant -f -a '(__sextant_complete)'
