# Phase 5: a preview, with the tokens and sources of what is sent.
ebb pipeline references.json --asset-root files --model gpt-4o --encoding bytes4 --agent presets.json --preview
