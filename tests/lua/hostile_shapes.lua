--- Conversations that are dear to a program with a slow path: a size n, and JSONL of so many
--- messages, calls, parts or keys.

local shapes = { list = {}, by_name = {} }

local function call(id)
  return ('{"id":"%s","type":"function","function":{"name":"f","arguments":"{}"}}'):format(id)
end

local function assistant(calls)
  return ('{"role":"assistant","content":null,"tool_calls":[%s]}'):format(table.concat(calls, ","))
end

local function result(id) return ('{"role":"tool","tool_call_id":"%s","content":"ok"}'):format(id) end
local function user(content) return ('{"role":"user","content":%s}'):format(content) end

--- A list of what `item` returns for 1 to n.
local function each(n, item)
  local list = {}
  for i = 1, n do
    list[i] = item(i)
  end
  return list
end

local function shape(name, lines)
  local entry = { name = name }
  function entry.document(n)
    local list = lines(n)
    list[#list + 1] = user '"last"'
    return table.concat(list, "\n") .. "\n"
  end
  shapes.list[#shapes.list + 1] = entry
  shapes.by_name[name] = entry
end

--- n calls, each in its message, then n results.
local function far(n, id, order)
  local list = each(n, function(i) return assistant { call(id(i)) } end)
  return table.move(each(n, function(i) return result(id(order and order(i) or i)) end), 1, n, n + 1, list)
end

local function same() return "a" end
local function own(i) return "c" .. i end
local function seven(i) return "c" .. i % 7 end

shape("far results of one id", function(n) return far(n, same) end)
shape("far results", function(n) return far(n, own) end)
shape("far results in reverse", function(n) return far(n, own, function(i) return n + 1 - i end) end)

shape("parallel calls of 7 ids", function(n)
  local list = each(n, function(i) return result(seven(i)) end)
  table.insert(list, 1, assistant(each(n, function(i) return call(seven(i)) end)))
  return list
end)

shape("parallel calls, every second answered", function(n)
  local list = each(n // 2, function(i) return result(own(2 * i)) end)
  table.insert(list, 1, assistant(each(n, function(i) return call(own(i)) end)))
  return list
end)

shape("results of an answered id", function(n)
  local list = each(n, function() return result "a" end)
  table.insert(list, 1, assistant { call "a" })
  return list
end)

shape("results without calls", function(n) return each(n, function(i) return result(own(i)) end) end)
shape("calls without results", function(n) return each(n, function(i) return assistant { call(own(i)) } end) end)

shape("one id, answered each time", function(n)
  return each(2 * n, function(i) return i % 2 == 1 and assistant { call "a" } or result "a" end)
end)

shape("uses and results as parts", function(n)
  local uses = each(n, function(i) return ('{"type":"tool_use","id":"%s","name":"f","input":{}}'):format(seven(i)) end)
  local results = each(n, function(i)
    return ('{"type":"tool_result","tool_use_id":"%s","content":"ok"}'):format(seven(i))
  end)
  return {
    ('{"role":"assistant","content":[%s]}'):format(table.concat(uses, ",")),
    user(("[%s]"):format(table.concat(results, ","))),
  }
end)

shape("parts", function(n)
  return { user(("[%s]"):format(table.concat(each(n, function() return '{"type":"text","text":"part"}' end), ","))) }
end)

shape("keys", function(n)
  local members = each(n, function(i) return ('"k%d":%d'):format(i, i) end)
  return { ('{"role":"user","content":"hi","metadata":{%s},%s}'):format(table.concat(members, ","),
    table.concat(members, ",")) }
end)

shape("messages", function(n)
  return each(n, function(i)
    return i % 2 == 1 and user(('"m%d"'):format(i)) or '{"role":"assistant","content":"so"}'
  end)
end)

shape("messages of one role", function(n) return each(n, function(i) return user(('"m%d"'):format(i)) end) end)
shape("system messages", function(n)
  return each(n, function(i) return ('{"role":"system","content":"m%d"}'):format(i) end)
end)

shape("spaces", function(n) return { user(('"a%sz"'):format((" "):rep(10 * n))) } end)
shape("lines", function(n)
  return { user(('"%s"'):format(table.concat(each(n, function(i) return "line " .. i % 7 end), "\\n"))) }
end)

return shapes
