# Section 3.3: the window, from its file to what a model reads; it is closed, and no model reads it.
ebb convert messages.json --to ebb -q -o $tmp/chat.ebb
ebb window open window.xml $tmp/chat.ebb -i -q
ebb window show todo_12345 $tmp/chat.ebb
ebb convert $tmp/chat.ebb --to openai -q -o $tmp/open.json
ebb window close todo_12345 $tmp/chat.ebb --summary done -i -q
ebb convert $tmp/chat.ebb --to openai -q -o $tmp/closed.json
grep -c todo_12345 $tmp/open.json $tmp/closed.json | sed "s|$tmp/||"
