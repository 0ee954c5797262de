_ebb() {
    local IFS=$' \t\n'
    local args cur prev cmd opts arg
    args=("${COMP_WORDS[@]}")
    cur="${COMP_WORDS[COMP_CWORD]}"
    prev="${COMP_WORDS[COMP_CWORD-1]}"
    opts="-h --help -V --version"

    args=("${args[@]:1}")
    for arg in "${args[@]}"; do
        case "$arg" in
            trim)
                cmd="trim"
                opts="$opts --budget --limit --reserve --policy --policy-path --unguarded --explain --dry-run --ledger --json -q --quiet --replay --suggest --requests --html --csv --price --cache -o --output --tools --tools-heading -i --in-place --repair --dialect --to --profile --keep-extra --model-command --model-timeout --record --replay-model --deadline --fuel --memory --trusted --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            filter)
                cmd="filter"
                opts="$opts --filter-path --deadline --fuel --memory --trusted --input --explain --dry-run --ledger --json -q --quiet --repair --dialect --to --profile -o --output --tools --tools-heading -i --in-place --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            apply)
                cmd="apply"
                opts="$opts --state --explain --dry-run --ledger --json -q --quiet --repair --dialect --to --profile -o --output --tools --tools-heading -i --in-place --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            input)
                cmd="input"
                opts="$opts --attach --window --agent --model-config --user-profile --macro --now --seed --deadline --fuel --memory --trusted --explain --dry-run --ledger --json -q --quiet -o --output --tools --tools-heading -i --in-place --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            window)
                cmd="window"
                opts="$opts --summary --explain --dry-run --ledger --json -q --quiet -o --output --tools --tools-heading -i --in-place --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            run)
                cmd="run"
                opts="$opts --input --check --graph --restart --trace --explain --dry-run --ledger --json -q --quiet -o --output --tools --tools-heading -i --in-place --model-command --base-url --stream --record --replay-model --transcribe-command --asset-command --service --transcripts --service-timeout --isolate --deadline --memory --file-size --allow-read --allow-write --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            each)
                cmd="each"
                opts="$opts --run --do --out --journal --retry --jobs --shard -q --quiet --json --model-command --base-url --stream --record --replay-model --transcribe-command --asset-command --service --transcripts --service-timeout --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            pipeline)
                cmd="pipeline"
                opts="$opts --agent --model-config --user-profile --lorebook --asset-root --to --dialect --keep-extra --set --budget --processor --plugin --macro --now --seed --on-error --display --explain --dry-run --ledger --json -q --quiet --preview --show-config --trace --transcribe-command --asset-command --service --transcripts --service-timeout --deadline --fuel --memory --trusted -o --output --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            count)
                cmd="count"
                opts="$opts --text --by --reported -o --output -q --quiet --json --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            check)
                cmd="check"
                opts="$opts --dialect --to --profile --strict --explain -o --output --json --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            convert)
                cmd="convert"
                opts="$opts --to --dialect --profile --repair --shape --strict --keep-extra -o --output --tools --tools-heading -i --in-place --explain --dry-run --ledger --json -q --quiet --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            import)
                cmd="import"
                opts="$opts --agent --chat --greeting --user --max-file --lenient --explain --dry-run --ledger --json -q --quiet --from --branch --conversation -h --help"
                break
                ;;
            inspect)
                cmd="inspect"
                opts="$opts --batch -o --output --json --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            report)
                cmd="report"
                opts="$opts --batch -o --output -q --quiet --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            session)
                cmd="session"
                opts="$opts -n --count --keep --messages -o --output --explain --dry-run --ledger --json -q --quiet --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --db -h --help"
                break
                ;;
            recall)
                cmd="recall"
                opts="$opts --tokens -o --output --json --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            diff)
                cmd="diff"
                opts="$opts -o --output --json --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            repl)
                cmd="repl"
                opts="$opts --model --encoding --max-message --max-file --role-map --lenient --from --branch --conversation --session --db -h --help"
                break
                ;;
            vocab)
                cmd="vocab"
                opts="$opts --pattern --name --nfc -o --output -h --help"
                break
                ;;
            policies)
                cmd="policies"
                opts="$opts --policy-path -o --output --json -h --help"
                break
                ;;
            processors)
                cmd="processors"
                opts="$opts --processor --plugin --deadline --fuel --memory --trusted -o --output --json -h --help"
                break
                ;;
            macros)
                cmd="macros"
                opts="$opts --macro --deadline --fuel --memory --trusted -o --output --json -h --help"
                break
                ;;
            rules)
                cmd="rules"
                opts="$opts --text --macro --deadline --fuel --memory --trusted -o --output --json -h --help"
                break
                ;;
            models)
                cmd="models"
                opts="$opts --only --all --dry-run -o --output --json -h --help"
                break
                ;;
            profiles)
                cmd="profiles"
                opts="$opts -o --output --json -h --help"
                break
                ;;
            limits)
                cmd="limits"
                opts="$opts -o --output --json -h --help"
                break
                ;;
            completion)
                cmd="completion"
                opts="$opts -o --output -h --help"
                break
                ;;
            help)
                cmd="help"
                opts="$opts -h --help"
                break
                ;;
        esac
    done

    case "$cmd" in
        '')
            COMPREPLY=($(compgen -W "trim filter apply input window run each pipeline count check convert import inspect report session recall diff repl vocab policies processors macros rules models profiles limits completion help" -- "$cur"))
            ;;
        'trim')
            case "$prev" in
                --budget|--limit)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --reserve)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --policy-path)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --requests)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --html)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --price)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --cache)
                    COMPREPLY=($(compgen -W "anthropic anthropic_1h deepseek gemini general none openai openai_30m" -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --repair)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --dialect|--to)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model-timeout)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --record)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --replay-model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'filter')
            case "$prev" in
                --filter-path)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --input)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --repair)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --dialect|--to)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'apply')
            case "$prev" in
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --repair)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --dialect|--to)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'input')
            case "$prev" in
                --attach)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --window)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model-config)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --user-profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --macro)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --now)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'window')
            case "$prev" in
                --summary)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'run')
            case "$prev" in
                --input)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --graph)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --base-url)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --record)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --replay-model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --transcribe-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --asset-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --service)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --transcripts)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --service-timeout)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --file-size)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --allow-read)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --allow-write)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'each')
            case "$prev" in
                --run)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --do)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --out)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --journal)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --jobs)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --shard)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --base-url)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --record)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --replay-model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --transcribe-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --asset-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --service)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --transcripts)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --service-timeout)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'pipeline')
            case "$prev" in
                --agent)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model-config)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --user-profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --lorebook)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --asset-root)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --to|--dialect)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --set)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --budget)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --processor|--plugin)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --macro)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --now)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --seed)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --on-error)
                    COMPREPLY=($(compgen -W "stop skip" -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --transcribe-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --asset-command)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --service)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --transcripts)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --service-timeout)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'count')
            case "$prev" in
                --by)
                    COMPREPLY=($(compgen -W "message role tool" -- "$cur"))
                    return 0
                    ;;
                --reported)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'check')
            case "$prev" in
                --dialect|--to)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --explain)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'convert')
            case "$prev" in
                --to|--dialect)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --profile)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --repair)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --shape)
                    COMPREPLY=($(compgen -W "body array jsonl" -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --tools-heading)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'import')
            case "$prev" in
                --agent)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --chat)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --greeting)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --user)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'inspect')
            case "$prev" in
                --batch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'report')
            case "$prev" in
                --batch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'session')
            case "$prev" in
                -n|--count)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --keep)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --ledger)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'recall')
            case "$prev" in
                --tokens)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'diff')
            case "$prev" in
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'repl')
            case "$prev" in
                --model)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-message)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --max-file)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --role-map)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --branch)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --conversation)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --db)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'vocab')
            case "$prev" in
                --pattern)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --name)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'policies')
            case "$prev" in
                --policy-path)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'processors')
            case "$prev" in
                --processor|--plugin)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'macros')
            case "$prev" in
                --macro)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'rules')
            case "$prev" in
                --text)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --macro)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --deadline)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --fuel)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                --memory)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'models')
            case "$prev" in
                --only)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'profiles')
            case "$prev" in
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'limits')
            case "$prev" in
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
        'completion')
            case "$prev" in
                -o|--output)
                    COMPREPLY=($(compgen -f -- "$cur"))
                    return 0
                    ;;
            esac

            ;;
    esac

    if [[ "$cur" = -* ]]; then
        COMPREPLY=($(compgen -W "$opts" -- "$cur"))
    fi
}

complete -F _ebb -o bashdefault -o default ebb
