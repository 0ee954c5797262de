function __fish_ebb_print_command
    set -l cmdline (commandline -poc)
    set -l cmd
    set -e cmdline[1]
    for arg in $cmdline
        switch $arg
            case trim
                set cmd $cmd trim
                break
            case filter
                set cmd $cmd filter
                break
            case apply
                set cmd $cmd apply
                break
            case input
                set cmd $cmd input
                break
            case window
                set cmd $cmd window
                break
            case run
                set cmd $cmd run
                break
            case each
                set cmd $cmd each
                break
            case pipeline
                set cmd $cmd pipeline
                break
            case count
                set cmd $cmd count
                break
            case check
                set cmd $cmd check
                break
            case convert
                set cmd $cmd convert
                break
            case import
                set cmd $cmd import
                break
            case inspect
                set cmd $cmd inspect
                break
            case report
                set cmd $cmd report
                break
            case session
                set cmd $cmd session
                break
            case recall
                set cmd $cmd recall
                break
            case diff
                set cmd $cmd diff
                break
            case repl
                set cmd $cmd repl
                break
            case vocab
                set cmd $cmd vocab
                break
            case policies
                set cmd $cmd policies
                break
            case processors
                set cmd $cmd processors
                break
            case macros
                set cmd $cmd macros
                break
            case rules
                set cmd $cmd rules
                break
            case models
                set cmd $cmd models
                break
            case profiles
                set cmd $cmd profiles
                break
            case limits
                set cmd $cmd limits
                break
            case completion
                set cmd $cmd completion
                break
            case help
                set cmd $cmd help
                break
        end
    end
    echo "$cmd"
end

function __fish_ebb_using_command
    test (__fish_ebb_print_command) = "$argv"
    and return 0
    or return 1
end

function __fish_ebb_seen_command
    string match -q "$argv*" (__fish_ebb_print_command)
    and return 0
    or return 1
end

complete -c ebb -n '__fish_ebb_using_command' -xa 'trim' -d 'Cut a conversation down to a token budget'
complete -c ebb -n '__fish_ebb_using_command' -xa 'filter' -d 'Keep, drop or rewrite messages by a Lua file'
complete -c ebb -n '__fish_ebb_using_command' -xa 'apply' -d 'Run operations from a JSON file: append, insert, replace, truncate and more'
complete -c ebb -n '__fish_ebb_using_command' -xa 'input' -d 'Append a user\'s text: macros expanded, files attached, windows opened'
complete -c ebb -n '__fish_ebb_using_command' -xa 'window' -d 'Open, update, close or show a window of a conversation'
complete -c ebb -n '__fish_ebb_using_command' -xa 'run' -d 'Run a Lua script, or the nodes that a Lua file returns'
complete -c ebb -n '__fish_ebb_using_command' -xa 'each' -d 'Run a workflow or a command over many conversations'
complete -c ebb -n '__fish_ebb_using_command' -xa 'pipeline' -d 'Build a request body from a conversation and an agent'
complete -c ebb -n '__fish_ebb_using_command' -xa 'count' -d 'Count tokens'
complete -c ebb -n '__fish_ebb_using_command' -xa 'check' -d 'List what a provider would refuse'
complete -c ebb -n '__fish_ebb_using_command' -xa 'convert' -d 'Write a conversation in the form of another provider'
complete -c ebb -n '__fish_ebb_using_command' -xa 'import' -d 'Make an agent and a conversation from another program\'s file'
complete -c ebb -n '__fish_ebb_using_command' -xa 'inspect' -d 'List a conversation\'s messages, with figures and warnings'
complete -c ebb -n '__fish_ebb_using_command' -xa 'report' -d 'Write a conversation as a page of HTML, with what edits took away and why'
complete -c ebb -n '__fish_ebb_using_command' -xa 'session' -d 'Keep conversations on disk: list, undo, branch, compare and check them'
complete -c ebb -n '__fish_ebb_using_command' -xa 'recall' -d 'Write what a trim left out, by the name in its handle'
complete -c ebb -n '__fish_ebb_using_command' -xa 'diff' -d 'Compare two conversations'
complete -c ebb -n '__fish_ebb_using_command' -xa 'repl' -d 'Run Lua at a prompt, with a conversation loaded'
complete -c ebb -n '__fish_ebb_using_command' -xa 'vocab' -d 'List, import or verify the vocabularies of exact counts'
complete -c ebb -n '__fish_ebb_using_command' -xa 'policies' -d 'List trim policies, or the options of one'
complete -c ebb -n '__fish_ebb_using_command' -xa 'processors' -d 'List the processors of a pipeline, or the settings of one'
complete -c ebb -n '__fish_ebb_using_command' -xa 'macros' -d 'List the macros of presets, rules and input, or explain one'
complete -c ebb -n '__fish_ebb_using_command' -xa 'rules' -d 'Try the regex rules of a file on a text'
complete -c ebb -n '__fish_ebb_using_command' -xa 'models' -d 'List models: windows, encodings, prices, and how they are counted'
complete -c ebb -n '__fish_ebb_using_command' -xa 'profiles' -d 'List servers\' profiles: what each refuses beyond its dialect'
complete -c ebb -n '__fish_ebb_using_command' -xa 'limits' -d 'List every limit, and what raises it'
complete -c ebb -n '__fish_ebb_using_command' -xa 'completion' -d 'Write a completion script for bash, zsh or fish'
complete -c ebb -n '__fish_ebb_using_command' -xa 'help' -d 'Explain a command or a topic'
complete -c ebb -s h -l help -d 'Show help'
complete -c ebb -s V -l version -d 'Show the version'

complete -c ebb -n '__fish_ebb_seen_command trim' -l budget -l limit -r -d 'Tokens for the whole request, or a share of the conversation such as 33%; default: the model\'s window less its output'
complete -c ebb -n '__fish_ebb_seen_command trim' -l reserve -r -d 'Tokens of the budget to leave free'
complete -c ebb -n '__fish_ebb_seen_command trim' -l policy -r -d 'A name, file or Lua text that returns one; names and files with options as :key=value,..'
complete -c ebb -n '__fish_ebb_seen_command trim' -l policy-path -r -d 'A folder of policies, searched before the user\'s own'
complete -c ebb -n '__fish_ebb_seen_command trim' -l unguarded -d 'Let policies drop system and pinned messages, pending calls and the last user message'
complete -c ebb -n '__fish_ebb_seen_command trim' -l explain -d 'Show on standard error what became of each message, and why; with --replay, which values of the history each reply used and its request lost'
complete -c ebb -n '__fish_ebb_seen_command trim' -l dry-run -d 'Write no messages, only the report'
complete -c ebb -n '__fish_ebb_seen_command trim' -l ledger -r -d 'Write what was changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command trim' -l json -d 'Report as JSON, notes included: with --dry-run or --replay on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command trim' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command trim' -l replay -d 'Replay conversations turn by turn under each --policy, and show what each would cost and lose; a,b is a chain'
complete -c ebb -n '__fish_ebb_seen_command trim' -l suggest -d 'Replay conversations under the best-suited policies, and each --policy, and say in five lines which to take, and why'
complete -c ebb -n '__fish_ebb_seen_command trim' -l requests -r -d 'With --replay: write each request as it was sent to this file, as JSON lines'
complete -c ebb -n '__fish_ebb_seen_command trim' -l html -r -d 'With --replay: write the report as a page with charts to this file'
complete -c ebb -n '__fish_ebb_seen_command trim' -l csv -d 'With --replay: report as CSV, a line per recording and policy'
complete -c ebb -n '__fish_ebb_seen_command trim' -l price -r -d 'With --replay: prices per million tokens of input, cached input, writing to the cache and output; default: the model\'s, else costs are in tokens of fresh input'
complete -c ebb -n '__fish_ebb_seen_command trim' -l cache -xa 'anthropic anthropic_1h deepseek gemini general none openai openai_30m' -d 'With --replay: whose prompt cache serves; default: the model\'s'
complete -c ebb -n '__fish_ebb_seen_command trim' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command trim' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command trim' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command trim' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command trim' -l repair -r -d 'Repair what the provider would refuse; unanswered calls: drop (default) or synthesize'
complete -c ebb -n '__fish_ebb_seen_command trim' -l dialect -l to -r -d 'The form of the request: openai, responses, anthropic or gemini; default: the model\'s, else that of the messages'
complete -c ebb -n '__fish_ebb_seen_command trim' -l profile -r -d 'The server\'s rules, by a name that \'ebb profiles\' lists or by its URL'
complete -c ebb -n '__fish_ebb_seen_command trim' -l keep-extra -d 'Keep members of a body\'s messages that requests do not have, as id and timestamp'
complete -c ebb -n '__fish_ebb_seen_command trim' -l model-command -r -d 'Shell command that answers requests of policies: JSON in, text or JSON out'
complete -c ebb -n '__fish_ebb_seen_command trim' -l model-timeout -r -d 'Time limit for an answer in seconds (default 120)'
complete -c ebb -n '__fish_ebb_seen_command trim' -l record -r -d 'Write these requests and answers to a new file'
complete -c ebb -n '__fish_ebb_seen_command trim' -l replay-model -r -d 'Answer the same requests from such a file; no command is run'
complete -c ebb -n '__fish_ebb_seen_command trim' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command trim' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command trim' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command trim' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command trim' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command trim' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command trim' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command trim' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command trim' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command trim' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command trim' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command trim' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command trim' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command trim' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command trim' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command trim' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command filter' -l filter-path -r -d 'A folder of filters, searched before the user\'s own'
complete -c ebb -n '__fish_ebb_seen_command filter' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command filter' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command filter' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command filter' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command filter' -l input -r -d 'JSON array, JSONL or request body; default: standard input'
complete -c ebb -n '__fish_ebb_seen_command filter' -l explain -d 'Show on standard error which messages changed'
complete -c ebb -n '__fish_ebb_seen_command filter' -l dry-run -d 'Write no messages, only what changed'
complete -c ebb -n '__fish_ebb_seen_command filter' -l ledger -r -d 'Write what was changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command filter' -l json -d 'Report as JSON: with --dry-run on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command filter' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command filter' -l repair -r -d 'Repair what the provider would refuse; unanswered calls: drop (default) or synthesize'
complete -c ebb -n '__fish_ebb_seen_command filter' -l dialect -l to -r -d 'The form of the request: openai, responses, anthropic or gemini; default: the model\'s, else that of the messages'
complete -c ebb -n '__fish_ebb_seen_command filter' -l profile -r -d 'The server\'s rules, by a name that \'ebb profiles\' lists or by its URL'
complete -c ebb -n '__fish_ebb_seen_command filter' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command filter' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command filter' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command filter' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command filter' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command filter' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command filter' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command filter' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command filter' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command filter' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command filter' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command filter' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command filter' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command filter' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command filter' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command filter' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command apply' -l state -d 'Write the whole conversation, which any command reads again: batches, checkpoints, marks, windows, ledgers'
complete -c ebb -n '__fish_ebb_seen_command apply' -l explain -d 'Show on standard error which messages changed'
complete -c ebb -n '__fish_ebb_seen_command apply' -l dry-run -d 'Write no messages, only what changed'
complete -c ebb -n '__fish_ebb_seen_command apply' -l ledger -r -d 'Write what was changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command apply' -l json -d 'Report as JSON, with the visible messages, batches, stats and results; without -i, -o, --state or --session this is a dry run'
complete -c ebb -n '__fish_ebb_seen_command apply' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command apply' -l repair -r -d 'Repair what the provider would refuse; unanswered calls: drop (default) or synthesize'
complete -c ebb -n '__fish_ebb_seen_command apply' -l dialect -l to -r -d 'The form of the request: openai, responses, anthropic or gemini; default: the model\'s, else that of the messages'
complete -c ebb -n '__fish_ebb_seen_command apply' -l profile -r -d 'The server\'s rules, by a name that \'ebb profiles\' lists or by its URL'
complete -c ebb -n '__fish_ebb_seen_command apply' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command apply' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command apply' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command apply' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command apply' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command apply' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command apply' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command apply' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command apply' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command apply' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command apply' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command apply' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command apply' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command apply' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command apply' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command apply' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command input' -l attach -r -d 'A file that belongs to the text; pipelines read it when they make a request'
complete -c ebb -n '__fish_ebb_seen_command input' -l window -r -d 'Open the window of this file before the text, or update it where it is open: JSON, or markup as models read it'
complete -c ebb -n '__fish_ebb_seen_command input' -l agent -r -d 'The agent: presets, rules, settings; JSON or Lua'
complete -c ebb -n '__fish_ebb_seen_command input' -l model-config -r -d 'The model: its name, abilities, settings; JSON or Lua'
complete -c ebb -n '__fish_ebb_seen_command input' -l user-profile -r -d 'The user: name, description; JSON or Lua'
complete -c ebb -n '__fish_ebb_seen_command input' -l macro -r -d 'Your own macros: a Lua file, or a folder of them'
complete -c ebb -n '__fish_ebb_seen_command input' -l now -r -d 'The time for macros, in ms since 1970; default: the clock'
complete -c ebb -n '__fish_ebb_seen_command input' -l seed -r -d 'Seed for random macros; default: derived from the conversation'
complete -c ebb -n '__fish_ebb_seen_command input' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command input' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command input' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command input' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command input' -l explain -d 'Show on standard error which messages changed'
complete -c ebb -n '__fish_ebb_seen_command input' -l dry-run -d 'Write no messages, only what changed'
complete -c ebb -n '__fish_ebb_seen_command input' -l ledger -r -d 'Write what was changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command input' -l json -d 'Report as JSON, with what macros left in variables: with --dry-run on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command input' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command input' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command input' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command input' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command input' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command input' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command input' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command input' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command input' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command input' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command input' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command input' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command input' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command input' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command input' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command input' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command input' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command window' -l summary -r -d 'close: what is left to say of it; `chat.windows:log()` shows it'
complete -c ebb -n '__fish_ebb_seen_command window' -l explain -d 'Show on standard error which messages changed'
complete -c ebb -n '__fish_ebb_seen_command window' -l dry-run -d 'Write no messages, only what changed'
complete -c ebb -n '__fish_ebb_seen_command window' -l ledger -r -d 'Write what was changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command window' -l json -d 'Report as JSON: with --dry-run on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command window' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command window' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command window' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command window' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command window' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command window' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command window' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command window' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command window' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command window' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command window' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command window' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command window' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command window' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command window' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command window' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command window' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command run' -l input -r -d 'JSON array, JSONL or request body; default: standard input'
complete -c ebb -n '__fish_ebb_seen_command run' -l check -d 'Check the nodes, and run none of them'
complete -c ebb -n '__fish_ebb_seen_command run' -l graph -r -d 'Draw the nodes, and run none of them: dot (default) or svg'
complete -c ebb -n '__fish_ebb_seen_command run' -l restart -d 'With --session: begin with the first node, even if an earlier run was ended in the middle'
complete -c ebb -n '__fish_ebb_seen_command run' -l trace -d 'Show on standard error what each node does'
complete -c ebb -n '__fish_ebb_seen_command run' -l explain -d 'Show on standard error which messages changed'
complete -c ebb -n '__fish_ebb_seen_command run' -l dry-run -d 'Write no messages, only what changed'
complete -c ebb -n '__fish_ebb_seen_command run' -l ledger -r -d 'Write what was changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command run' -l json -d 'Report as JSON, with what each node did: with --dry-run on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command run' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command run' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command run' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command run' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command run' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command run' -l model-command -r -d 'Shell command that answers model nodes: the request on its standard input, a text or a response on its standard output'
complete -c ebb -n '__fish_ebb_seen_command run' -l base-url -r -d 'Address of the model\'s server; default: EBB_BASE_URL, or the provider\'s own variable'
complete -c ebb -n '__fish_ebb_seen_command run' -l stream -d 'Show answers on standard error as they come; on a terminal they are shown anyway'
complete -c ebb -n '__fish_ebb_seen_command run' -l record -r -d 'Write requests and answers of model nodes to a new file'
complete -c ebb -n '__fish_ebb_seen_command run' -l replay-model -r -d 'Answer model nodes from such a file'
complete -c ebb -n '__fish_ebb_seen_command run' -l transcribe-command -r -d 'Shell command that transcribes audio, video and images: the request with the file on its standard input, the text on its standard output'
complete -c ebb -n '__fish_ebb_seen_command run' -l asset-command -r -d 'Shell command that answers attachments known by id or address: the request on its standard input, the file on its standard output'
complete -c ebb -n '__fish_ebb_seen_command run' -l service -r -d 'Shell command for another service of processors, such as retrieve=./search.sh'
complete -c ebb -n '__fish_ebb_seen_command run' -l transcripts -r -d 'Keep transcripts in this folder, by what was transcribed'
complete -c ebb -n '__fish_ebb_seen_command run' -l service-timeout -r -d 'Time limit for an answer in seconds (default 120)'
complete -c ebb -n '__fish_ebb_seen_command run' -l isolate -d 'Run in a child process without network, other processes, C modules, or files except those below and the script\'s own folder, which it may read whole: in your home folder, all of your home'
complete -c ebb -n '__fish_ebb_seen_command run' -l deadline -r -d 'With --isolate: wall-clock limit in ms, also applied to CPU time (default 60000)'
complete -c ebb -n '__fish_ebb_seen_command run' -l memory -r -d 'With --isolate: address space limit, 64M or more (default 1024M)'
complete -c ebb -n '__fish_ebb_seen_command run' -l file-size -r -d 'With --isolate: size limit of written files (default 256M)'
complete -c ebb -n '__fish_ebb_seen_command run' -l allow-read -r -d 'With --isolate: a file or folder that may be read'
complete -c ebb -n '__fish_ebb_seen_command run' -l allow-write -r -d 'With --isolate: a file or folder that may be read and written'
complete -c ebb -n '__fish_ebb_seen_command run' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command run' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command run' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command run' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command run' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command run' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command run' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command run' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command run' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command run' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command run' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command run' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command each' -l run -r -d 'A workflow for each conversation: a Lua file that returns nodes, or JSON'
complete -c ebb -n '__fish_ebb_seen_command each' -l do -r -d 'A command for each file, such as \'trim --budget 8k\', \'check\' or \'report\''
complete -c ebb -n '__fish_ebb_seen_command each' -l out -r -d 'Folder of the results, which is made; required'
complete -c ebb -n '__fish_ebb_seen_command each' -l journal -r -d 'File that says what is done; a rerun skips that (default: journal.jsonl in --out)'
complete -c ebb -n '__fish_ebb_seen_command each' -l retry -d 'Run again what failed'
complete -c ebb -n '__fish_ebb_seen_command each' -l jobs -r -d 'Processes at a time (default: one per processor)'
complete -c ebb -n '__fish_ebb_seen_command each' -l shard -r -d 'Every n-th conversation from the i-th, for n machines'
complete -c ebb -n '__fish_ebb_seen_command each' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command each' -l json -d 'Report as JSON: what became of how many, and the failures'
complete -c ebb -n '__fish_ebb_seen_command each' -l model-command -r -d 'Shell command that answers model nodes: the request on its standard input, a text or a response on its standard output'
complete -c ebb -n '__fish_ebb_seen_command each' -l base-url -r -d 'Address of the model\'s server; default: EBB_BASE_URL, or the provider\'s own variable'
complete -c ebb -n '__fish_ebb_seen_command each' -l stream -d 'Show answers on standard error as they come; on a terminal they are shown anyway'
complete -c ebb -n '__fish_ebb_seen_command each' -l record -r -d 'Write requests and answers of model nodes to a new file'
complete -c ebb -n '__fish_ebb_seen_command each' -l replay-model -r -d 'Answer model nodes from such a file'
complete -c ebb -n '__fish_ebb_seen_command each' -l transcribe-command -r -d 'Shell command that transcribes audio, video and images: the request with the file on its standard input, the text on its standard output'
complete -c ebb -n '__fish_ebb_seen_command each' -l asset-command -r -d 'Shell command that answers attachments known by id or address: the request on its standard input, the file on its standard output'
complete -c ebb -n '__fish_ebb_seen_command each' -l service -r -d 'Shell command for another service of processors, such as retrieve=./search.sh'
complete -c ebb -n '__fish_ebb_seen_command each' -l transcripts -r -d 'Keep transcripts in this folder, by what was transcribed'
complete -c ebb -n '__fish_ebb_seen_command each' -l service-timeout -r -d 'Time limit for an answer in seconds (default 120)'
complete -c ebb -n '__fish_ebb_seen_command each' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command each' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command each' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command each' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command each' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command each' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command each' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command each' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command each' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command each' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command each' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command each' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command pipeline' -l agent -r -d 'The agent: presets, rules, settings; JSON or Lua'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l model-config -r -d 'The model: its name, abilities, settings; JSON or Lua'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l user-profile -r -d 'The user: name, description; JSON or Lua'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l lorebook -r -d 'A lorebook besides the agent\'s: Ebb\'s form, or one that ebb import reads'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l asset-root -r -d 'The folder of attachments; default: the agent\'s assetRoot, below its file\'s folder'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l to -l dialect -r -d 'The dialect of the body: openai, responses, anthropic or gemini; default: the model\'s'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l keep-extra -d 'Keep members of messages that requests do not have, such as id and timestamp'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l set -r -d 'A setting of one processor: id.key=value'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l budget -r -d 'Tokens of the whole request: --set token-limiter.budget=<tokens>'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l processor -l plugin -r -d 'Your own processor: a Lua file, or a folder of them'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l macro -r -d 'Your own macros: a Lua file, or a folder of them'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l now -r -d 'The time for macros, in ms since 1970; default: the clock'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l seed -r -d 'Seed for random macros; default: derived from the conversation'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l on-error -xa 'stop skip' -d 'If a processor fails: stop (default), or skip it'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l display -d 'Write the messages as a reader is shown them, with the rules of stage render; no request'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l explain -d 'Show on standard error what became of each message of the history, and why'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l dry-run -d 'Write no request, only what it would be'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l ledger -r -d 'Write what the token limiter did to the history to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l json -d 'Report as JSON: of --preview and --show-config as their result; else of what the token limiter did, with --dry-run on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l preview -d 'Show the messages of the request and their sources; write no request'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l show-config -d 'Show the merged settings, and where each came from'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l trace -d 'Show on standard error what each processor changed, 200 messages at most'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l transcribe-command -r -d 'Shell command that transcribes audio, video and images: the request with the file on its standard input, the text on its standard output'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l asset-command -r -d 'Shell command that answers attachments known by id or address: the request on its standard input, the file on its standard output'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l service -r -d 'Shell command for another service of processors, such as retrieve=./search.sh'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l transcripts -r -d 'Keep transcripts in this folder, by what was transcribed'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l service-timeout -r -d 'Time limit for an answer in seconds (default 120)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command pipeline' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command count' -l text -d 'The files are plain text, not conversations'
complete -c ebb -n '__fish_ebb_seen_command count' -l by -xa 'message role tool' -d 'A line per message, per role, or per tool: its calls and results'
complete -c ebb -n '__fish_ebb_seen_command count' -l reported -r -d 'Keep what the provider counted for this request: it narrows the margin of its model'
complete -c ebb -n '__fish_ebb_seen_command count' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command count' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command count' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command count' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command count' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command count' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command count' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command count' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command count' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command count' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command count' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command count' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command count' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command count' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command count' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command check' -l dialect -l to -r -d 'The form of the request: openai, responses, anthropic or gemini; default: the model\'s, else that of the messages'
complete -c ebb -n '__fish_ebb_seen_command check' -l profile -r -d 'The server\'s rules, by a name that \'ebb profiles\' lists or by its URL'
complete -c ebb -n '__fish_ebb_seen_command check' -l strict -d 'Count what only some servers or models refuse, too'
complete -c ebb -n '__fish_ebb_seen_command check' -l explain -r -d 'Explain a rule by its code, or list them all (all); checks nothing'
complete -c ebb -n '__fish_ebb_seen_command check' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command check' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command check' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command check' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command check' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command check' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command check' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command check' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command check' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command check' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command check' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command check' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command check' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command check' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command convert' -l to -l dialect -r -d 'The dialect to write: openai, responses, anthropic or gemini; default: the model\'s'
complete -c ebb -n '__fish_ebb_seen_command convert' -l profile -r -d 'The server\'s rules, by a name that \'ebb profiles\' lists or by its URL'
complete -c ebb -n '__fish_ebb_seen_command convert' -l repair -r -d 'Repair what the provider would refuse; unanswered calls: drop (default) or synthesize'
complete -c ebb -n '__fish_ebb_seen_command convert' -l shape -xa 'body array jsonl' -d 'body, array or jsonl; default: the input\'s, or body where system texts need it'
complete -c ebb -n '__fish_ebb_seen_command convert' -l strict -d 'Write nothing if something of the conversation would be left out, or was left out when the file of another program was read'
complete -c ebb -n '__fish_ebb_seen_command convert' -l keep-extra -d 'Keep id, timestamp, metadata and others in messages that are not rewritten'
complete -c ebb -n '__fish_ebb_seen_command convert' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command convert' -l tools -r -d 'Describe the tools of this JSON file in a system message, unless one does: a list of {name, description}, or of a provider\'s tools'
complete -c ebb -n '__fish_ebb_seen_command convert' -l tools-heading -r -d 'The first line of that message (default: Available tools:)'
complete -c ebb -n '__fish_ebb_seen_command convert' -s i -l in-place -d 'Write the result to the input file, unless another program changed it meanwhile'
complete -c ebb -n '__fish_ebb_seen_command convert' -l explain -d 'Show on standard error each thing that is left out or changed, by message'
complete -c ebb -n '__fish_ebb_seen_command convert' -l dry-run -d 'Write no conversation, only what would be left out or changed'
complete -c ebb -n '__fish_ebb_seen_command convert' -l ledger -r -d 'Write what is left out or changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command convert' -l json -d 'Report as JSON: with --dry-run on standard output, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command convert' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command convert' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command convert' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command convert' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command convert' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command convert' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command convert' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command convert' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command convert' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command convert' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command convert' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command convert' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command convert' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command import' -l agent -r -d 'Write the agent to this file; default: NAME.agent.json in the current folder'
complete -c ebb -n '__fish_ebb_seen_command import' -l chat -r -d 'Write the conversation to this file; default: NAME.chat.json'
complete -c ebb -n '__fish_ebb_seen_command import' -l greeting -r -d 'Which first message begins the conversation, from 0'
complete -c ebb -n '__fish_ebb_seen_command import' -l user -r -d 'The user\'s name in that message'
complete -c ebb -n '__fish_ebb_seen_command import' -l max-file -r -d 'The largest file that is read; default 256M'
complete -c ebb -n '__fish_ebb_seen_command import' -l lenient -d 'Go on after lines that are not JSON, and say so'
complete -c ebb -n '__fish_ebb_seen_command import' -l explain -d 'Show on standard error what was understood, member by member, and each message'
complete -c ebb -n '__fish_ebb_seen_command import' -l dry-run -d 'Write no files, only the report'
complete -c ebb -n '__fish_ebb_seen_command import' -l ledger -r -d 'Write the report to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command import' -l json -d 'Report as JSON on standard output'
complete -c ebb -n '__fish_ebb_seen_command import' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command import' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command import' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command import' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command import' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command inspect' -l batch -r -d 'Show this batch: its number, or the name of a checkpoint'
complete -c ebb -n '__fish_ebb_seen_command inspect' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command inspect' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command inspect' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command report' -l batch -r -d 'Show this batch: its number, or the name of a checkpoint'
complete -c ebb -n '__fish_ebb_seen_command report' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command report' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command report' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command report' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command report' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command report' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command report' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command report' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command report' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command report' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command report' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command report' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command report' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command report' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command session' -s n -l count -r -d 'log: batches to show (default: 50)'
complete -c ebb -n '__fish_ebb_seen_command session' -l keep -r -d 'prune: the newest batches that stay (default: 1)'
complete -c ebb -n '__fish_ebb_seen_command session' -l messages -d 'export: the visible messages alone, not the whole conversation'
complete -c ebb -n '__fish_ebb_seen_command session' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command session' -l explain -d 'Show on standard error which messages an edit changed'
complete -c ebb -n '__fish_ebb_seen_command session' -l dry-run -d 'Change nothing, and say what would change: of actions that edit'
complete -c ebb -n '__fish_ebb_seen_command session' -l ledger -r -d 'Write what an edit changed to this file, as JSON'
complete -c ebb -n '__fish_ebb_seen_command session' -l json -d 'Report as JSON: of ls, log, salvage with NEW on standard output; of edits with --dry-run there, else on standard error'
complete -c ebb -n '__fish_ebb_seen_command session' -s q -l quiet -d 'Do not report success or progress'
complete -c ebb -n '__fish_ebb_seen_command session' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command session' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command session' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command session' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command session' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command session' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command session' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command session' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command session' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command session' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command session' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command recall' -l tokens -r -d 'Most tokens to write; a handle stands for the rest'
complete -c ebb -n '__fish_ebb_seen_command recall' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command recall' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command recall' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command recall' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command recall' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command recall' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command recall' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command recall' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command recall' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command recall' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command recall' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command recall' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command recall' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command recall' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command diff' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command diff' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command diff' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command diff' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command diff' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command diff' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command diff' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command diff' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command diff' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command diff' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command diff' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command diff' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command diff' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command diff' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command repl' -l model -r -d 'Count as for this model'
complete -c ebb -n '__fish_ebb_seen_command repl' -l encoding -r -d 'Count by this encoding: a vocabulary such as o200k_base, or bytes4, cjk, claude, claude_4_7, utf16_2_5'
complete -c ebb -n '__fish_ebb_seen_command repl' -l max-message -r -d 'Size limit of a message (default 16M)'
complete -c ebb -n '__fish_ebb_seen_command repl' -l max-file -r -d 'Size limit of an array or body (default 256M), or a line that is one (64M)'
complete -c ebb -n '__fish_ebb_seen_command repl' -l role-map -r -d 'Read messages of role <old> as role <new>; output keeps <old>'
complete -c ebb -n '__fish_ebb_seen_command repl' -l lenient -d 'Skip invalid messages, repair text and keys, with warnings and exit status 3'
complete -c ebb -n '__fish_ebb_seen_command repl' -l from -r -d 'Read a file of this form of another program, such as claude_code, or of this dialect; default: recognised'
complete -c ebb -n '__fish_ebb_seen_command repl' -l branch -r -d 'In such a file, read this branch, by number or id; or a sidechain'
complete -c ebb -n '__fish_ebb_seen_command repl' -l conversation -r -d 'In such a file with several conversations, read this one, by number, id or title'
complete -c ebb -n '__fish_ebb_seen_command repl' -l session -r -d 'Read this session in place of a file; commands that edit write to it, too'
complete -c ebb -n '__fish_ebb_seen_command repl' -l db -r -d 'The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user\'s own)'
complete -c ebb -n '__fish_ebb_seen_command repl' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command vocab' -l pattern -r -d 'import: how texts are split before merging: cl100k, o200k, gpt2 or a regular expression'
complete -c ebb -n '__fish_ebb_seen_command vocab' -l name -r -d 'import, fetch: the name of the encoding (default: the file\'s)'
complete -c ebb -n '__fish_ebb_seen_command vocab' -l nfc -d 'import: assume texts in Unicode form NFC, to which a file may otherwise bring them'
complete -c ebb -n '__fish_ebb_seen_command vocab' -s o -l output -r -d 'import, fetch: the file for the image, not the user\'s folder'
complete -c ebb -n '__fish_ebb_seen_command vocab' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command policies' -l policy-path -r -d 'A folder of policies, searched before the user\'s own'
complete -c ebb -n '__fish_ebb_seen_command policies' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command policies' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command policies' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command processors' -l processor -l plugin -r -d 'Your own processor: a Lua file, or a folder of them'
complete -c ebb -n '__fish_ebb_seen_command processors' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command processors' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command processors' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command processors' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command processors' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command processors' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command processors' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command macros' -l macro -r -d 'Your own macros: a Lua file, or a folder of them'
complete -c ebb -n '__fish_ebb_seen_command macros' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command macros' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command macros' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command macros' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command macros' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command macros' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command macros' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command rules' -l text -r -d 'The text to rewrite; default: the testInput of each rule'
complete -c ebb -n '__fish_ebb_seen_command rules' -l macro -r -d 'Your own macros: a Lua file, or a folder of them'
complete -c ebb -n '__fish_ebb_seen_command rules' -l deadline -r -d 'Time limit in ms (default: 2000 plus 0.02 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command rules' -l fuel -r -d 'Lua instruction limit (default: 200 million plus 2000 per message; 0: unlimited)'
complete -c ebb -n '__fish_ebb_seen_command rules' -l memory -r -d 'Memory limit (default: 64M plus 64 bytes per message)'
complete -c ebb -n '__fish_ebb_seen_command rules' -l trusted -d 'Run it outside of the sandbox: with all of Lua, files and processes, without limits'
complete -c ebb -n '__fish_ebb_seen_command rules' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command rules' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command rules' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command models' -l only -r -d 'import, update: take the models of this name; * stands for any text'
complete -c ebb -n '__fish_ebb_seen_command models' -l all -d 'import, update: take models that other providers than their own offer, too'
complete -c ebb -n '__fish_ebb_seen_command models' -l dry-run -d 'import, update: write nothing, only report'
complete -c ebb -n '__fish_ebb_seen_command models' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command models' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command models' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command profiles' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command profiles' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command profiles' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command limits' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command limits' -l json -d 'Report as JSON'
complete -c ebb -n '__fish_ebb_seen_command limits' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command completion' -s o -l output -r -d 'Write to this file instead of standard output'
complete -c ebb -n '__fish_ebb_seen_command completion' -s h -l help -d 'Show this help'

complete -c ebb -n '__fish_ebb_seen_command help' -s h -l help -d 'Show this help'
