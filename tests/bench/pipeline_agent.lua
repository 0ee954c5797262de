--- Writes an agent of 50 rules, some of which hit words of generate.lua's texts, and 30 presets, half at depths.
--
--     lua5.4 pipeline_agent.lua

local RULES, PRESETS = 50, 30
local words = {}
for word in ([[invoice worker queue release replica primary retry timeout index plans]]):gmatch "%a+" do
  words[#words + 1] = word
end
for i = #words + 1, RULES do words[i] = "word" .. i end

local rules, presets = {}, {}
for i, word in ipairs(words) do
  rules[i] = ([[{"id":"r%d","regex":"\\b%s\\b","flags":"g","replacement":"<%s>","applyTo":{"request":true},]]
    .. [["targetRoles":["user","assistant"]}]]):format(i, word, word:upper())
end
for i = 1, PRESETS do
  local strategy = i > PRESETS // 2 and (',"injectionStrategy":{"depth":%d}'):format(3 * i) or ""
  presets[i] = ([[{"role":"system","content":"Preset %d of {{char}}."%s}]]):format(i, strategy)
end
table.insert(presets, PRESETS // 2 + 1, '{"type":"chat_history"}')
local agent = [[{"name":"Bench","presets":[%s],"rules":[{"id":"all","rules":[%s]}],
"processors":{"merge-system":false,"merge-roles":false}}]]
print(agent:format(table.concat(presets, ","), table.concat(rules, ",")))
