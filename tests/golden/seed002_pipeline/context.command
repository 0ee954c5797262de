# Section 5.1: the fields of the context; in Lua they are written as Lua writes names, such as shared_data.
ebb pipeline turns.json --agent agent.json --user-profile user.json --now 1700000000000 --plugin looker.lua --plugin teller.lua -q
ebb pipeline turns.json --agent agent.json --user-profile user.json --now 1700000000000 --plugin looker.lua \
  --plugin teller.lua --preview | grep 'looker\|teller'
