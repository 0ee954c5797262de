--- ContextUI's own cases (data/cases/aci.json) that are about items, windows and what
--- goes when space is short. Each agrees, or is below with the words of
--- BEHAVIOUR.md that make it differ. Cases about calls and parameters are elsewhere.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local cases = helper.shared and helper.read(helper.shared .. "/data/cases/aci.json")

local ELSEWHERE = { aci_action_parse = true, aci_param_validate = true }

local DIFFERS = {
  ["window compact drops description and content tag"] =
    'compact: <Window id="x" compact="true">..</Window>: there are no namespaces',
  ["render window becomes a user message"] = "Markup: <Content>, and a closable window lists close",
  ["render namespace definition follows the first window that refers to it, once"] =
    "Markup: actions stand in each window",
  ["window manager remove"] = "Window: closed is a state, so that a rollback finds it closed",
  ["prune order oldest first across types"] =
    "keep_turns: then old user and assistant; windows that are not important go with them, in the order of the list",
  ["prune second round drops important window"] =
    "keep_turns: no amount of conversation is protected; old user and assistant go before windows",
  ["prune system never removed even when alone over budget"] = "The result is within budget, or the call is refused",
  ["prune pinned never removed"] = "The result is within budget, or the call is refused",
  ["prune unimportant pinned window stays"] = "The result is within budget, or the call is refused",
}

---- How ours is asked ----

--- ContextUI counts a window's content, without what is around it.
local function count(message)
  local text = message.content:match "<Content>(.*)</Content>" or message.text
  local units = 0
  for _, point in utf8.codes(text) do
    units = units + (point > 0xFFFF and 2 or 1)
  end
  return (units * 2 + 4) // 5
end

local function chat_of(case)
  local chat, ids = ebb.conversation { counter = count }, {}
  for _, window in ipairs(case.options.windows or {}) do
    chat.windows:open {
      id = window.id, content = window.content, pinned = window.pin, important = window.important, item = false,
      closable = false,
    }
  end
  for i, item in ipairs(case.input) do
    local is_window = item.type == "window"
    chat:append(is_window and { window = item.content } or { role = item.type, content = item.content })
    ids[chat[i].seq] = item.id
  end
  return chat, ids
end

local function names(list, ids)
  local out = {}
  for i = 1, #list do
    out[i] = ids[list[i].seq]
  end
  return out
end

local runners = {
  aci_estimate = function(case)
    local chat = ebb.conversation { encoding = "utf16_2_5" }
    chat:append { role = "user", content = case.input }
    assert.equal(case.expected, chat[1].tokens)
  end,

  aci_prune = function(case)
    local chat, ids = chat_of(case)
    local options = case.options
    local target = options.pruneTargetTokens > 0 and options.pruneTargetTokens or options.maxTokens // 2
    local report = assert(chat:trim { budget = target, guards = false, policy = function(draft)
      for message in draft:messages {} do   -- their last user message may go
        local pinned = message.window and chat.windows:get(message.window).pinned
        if pinned or message.role == "system" then draft:keep(message) end
      end
      draft:run("keep_turns", { turns = 0 })
    end })
    assert.is_true(report.after <= target)
    assert.same(case.expected, names(chat, ids))
  end,

  aci_store = function(case)
    local chat, ids = ebb.conversation { encoding = "utf16_2_5" }, {}
    for _, step in ipairs(case.input) do
      local item = step.add
      if item then
        local is_window = item.type == "window"
        if is_window and not chat.windows:get(item.content) then
          chat.windows:open { id = item.content, item = false }
        end
        chat:append(is_window and { window = item.content } or { role = item.type, content = item.content })
        ids[chat.windows.seq] = item.id
      else
        chat.windows:get(step.mark_window_obsolete):close()
      end
    end
    for i, expected in ipairs(case.expected.all or {}) do
      local message = chat[i]
      local actual = { message.seq, message.tokens, message.obsolete }
      assert.same({ expected.seq, expected.tokens, expected.obsolete }, actual)
    end
    if case.expected.active then assert.same(case.expected.active, names(chat:active(), ids)) end
  end,

  aci_window_manager = function(case)
    local chat = ebb.conversation()
    for _, step in ipairs(case.input) do
      if step.add then chat.windows:open { id = step.add } end
      if step.remove and chat.windows:get(step.remove) then chat.windows:get(step.remove):close() end
    end
    for id in pairs(case.expected.get or {}) do
      assert.is_nil(chat.windows:get(id))
    end
  end,

  aci_window_render = function(case)
    local chat, input = ebb.conversation(), case.input
    chat.windows:open { id = input.id, content = input.content, description = input.description, render = "compact" }
    assert.equal(case.expected, chat.windows:get(input.id):markup())
  end,

  aci_render = function(case)
    local chat = chat_of(case)
    for i, message in ipairs(chat.windows:render()) do
      assert.equal(case.expected[i].content, message.content)
    end
  end,
}

describe("ContextUI", function()
  if not cases then
    pending "data/cases/aci.json is not at hand"
    return
  end
  for _, case in ipairs(ebb.json.decode(cases)) do
    local why = DIFFERS[case.name]
    if why then
      it(("differs in: %s (%s)"):format(case.name, why), function()
        assert.is_false((pcall(runners[case.op], case)))
      end)
    elseif not ELSEWHERE[case.op] then
      it(case.name, function() runners[case.op](case) end)
    end
  end
end)
