--- Conversations that are dear to a program with a slow path and that only a program can make: by name, a function of
--- a size n.

---@param ebb table                the library
---@param shapes table             those of hostile_shapes.lua
---@return table<string, fun(n: integer): ebb.Conversation>
return function(ebb, shapes)
  local chats = {}

  local function plain(n) return ebb.parse(shapes.by_name.messages.document(n)) end

  chats["windows"] = function(n)
    local chat = ebb.conversation()
    for i = 1, n do
      chat.windows:open { id = "w" .. i, content = "state " .. i, actions = { { id = "go" } } }
    end
    chat:append { role = "user", content = "last" }
    return chat
  end

  chats["items of one window"] = function(n)
    local chat = ebb.conversation()
    local window = chat.windows:open { id = "w", content = "state", refresh = "append" }
    for i = 1, n do
      window:update { content = "state " .. i }
    end
    chat:append { role = "user", content = "last" }
    return chat
  end

  chats["batches"] = function(n)
    local chat = plain(10)
    for i = 1, n do
      chat:append { role = "user", content = "m" .. i }
      chat:truncate { keep_last = 10 }
    end
    return chat
  end

  chats["checkpoints"] = function(n)
    local chat = plain(10)
    for i = 1, n do
      chat:append { role = "user", content = "m" .. i }
      chat:checkpoint("c" .. i)
    end
    return chat
  end

  chats["marks"] = function(n)
    local chat = ebb.parse(shapes.by_name["parallel calls of 7 ids"].document(n))
    for i = 1, #chat do
      chat:mark(i, "pinned")
    end
    return chat
  end

  chats["names of marks"] = function(n)
    local chat = plain(n)
    for i = 1, #chat do
      chat:mark(i, "mark " .. i)
    end
    return chat
  end

  chats["replaced messages"] = function(n)
    local chat = plain(n)
    for i = 1, #chat do
      chat:replace(i, { role = chat[i].role, content = "other " .. i })
    end
    return chat
  end

  chats["inserted messages"] = function(n)
    local chat, list = plain(10), {}
    for i = 1, n do
      list[2 * i - 1] = { role = "assistant", tool_calls = {
        { id = "c" .. i % 7, type = "function", ["function"] = { name = "f", arguments = "{}" } } } }
      list[2 * i] = { role = "tool", tool_call_id = "c" .. i % 7, content = "ok" }
    end
    chat:insert(5, list)
    return chat
  end

  return chats
end
