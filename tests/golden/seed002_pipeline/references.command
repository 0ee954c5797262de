# Section 4: a reference in the content, and one beside it, become what the model takes; the log says so.
ebb pipeline references.json --asset-root files --model gpt-4o --encoding bytes4
ebb pipeline references.json --asset-root files --model gpt-4o --encoding bytes4 --preview | grep resolver
