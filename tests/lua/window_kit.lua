--- Helps specs of windows: makes a chat, appends a message, shows the rendered list.

local ebb = dofile("tests/lua/helper.lua").ebb

local kit = {}

function kit.new_chat()
  return ebb.conversation { encoding = "bytes4" }
end

function kit.say(chat, role, content)
  chat:append { role = role, content = content }
end

--- The messages that show windows, as "id=content".
function kit.shown(chat, options)
  local list = {}
  for _, message in ipairs(assert(chat.windows:render(options))) do
    if message.window then
      list[#list + 1] = message.window .. "=" .. message.content:match "<Content>(.*)</Content>"
    end
  end
  return table.concat(list, " ")
end

return kit
