# ROLLBACK after the process that did the operations has ended.
ebb apply all_seven.operations.json input.json --state -q -o $tmp/chat.ebb
ebb apply '{"operation": "ROLLBACK", "targetBatchIndex": 0}' $tmp/chat.ebb -q -i --state
ebb convert $tmp/chat.ebb --to openai -q 2>/dev/null
