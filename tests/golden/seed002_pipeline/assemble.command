# Sections 2.1 and 3.1: the user's words with macros and a file, then rules, injections, the budget and files.
cp turns.json $tmp/chat.json
ebb input 'Where is the gate, {{char}}?' $tmp/chat.json --agent presets.json --attach files/map.png -i -q
tail -2 $tmp/chat.json
ebb pipeline $tmp/chat.json --agent presets.json --asset-root . --model gpt-4o --encoding bytes4 -q
