--- The commands agree: one file, one model and the same options have one count, and one trim has one set of figures,
--- whichever command tells it.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local contains, does, file, path_of = command.contains, command.does, command.file, command.path_of
local json = helper.ebb.json

local TOOL = '"name":"tide","description":"Height of the tide"'
local SCHEMA = '{"type":"object","properties":{"hour":{"type":"integer"}}}'

local BODIES = {
  ["anthropic.json"] = ([[{"model":"claude-sonnet-4-5","max_tokens":500,"system":"You keep the log of a harbour.",
    "tools":[{%s,"input_schema":%s}],"messages":[{"role":"user","content":"When can the Alma leave?"},
    {"role":"assistant","content":[{"type":"text","text":"I look at the tides."},
      {"type":"tool_use","id":"t1","name":"tide","input":{"hour":6}},
      {"type":"tool_use","id":"t2","name":"tide","input":{"hour":18}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1.20 m, falling until 08:30"},
      {"type":"tool_result","tool_use_id":"t2","content":"4.75 m, high water at 18:20"}]},
    {"role":"assistant","content":"At 18:20, with 4.75 m."},
    {"role":"user","content":"And with a draught of five metres?"}]}]]):format(TOOL, SCHEMA),
  ["gemini.json"] = ([[{"systemInstruction":{"parts":[{"text":"You keep the log of a harbour."}]},
    "tools":[{"functionDeclarations":[{%s,"parameters":%s}]}],
    "contents":[{"role":"user","parts":[{"text":"When can the Alma leave?"}]},
    {"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"tide","args":{"hour":18}}}]},
    {"role":"user","parts":[{"functionResponse":{"name":"tide","response":{"height":"4.75 m at 18:20"}}}]},
    {"role":"model","parts":[{"text":"At 18:20, with 4.75 m."}]},
    {"role":"user","parts":[{"text":"And with a draught of five metres?"}]}]}]]):format(TOOL, SCHEMA),
  ["responses.json"] = ([[{"model":"gpt-4o","instructions":"You keep the log of a harbour.",
    "tools":[{"type":"function",%s,"parameters":%s}],
    "input":[{"role":"user","content":[{"type":"input_text","text":"When can the Alma leave?"}]},
    {"type":"function_call","call_id":"c1","name":"tide","arguments":"{\"hour\":18}"},
    {"type":"function_call_output","call_id":"c1","output":"4.75 m, high water at 18:20"},
    {"role":"assistant","content":[{"type":"output_text","text":"At 18:20, with 4.75 m."}]},
    {"role":"user","content":"And with a draught of five metres?"}]}]]):format(TOOL, SCHEMA),
}

local OPTIONS = { "", "--model gpt-4o", "--model claude-opus-4-5", "--model gemini-2.5-flash", "--encoding bytes4" }
local FILES = { "anthropic.json", "gemini.json", "responses.json", "scripts/samples/chat.jsonl",
  "scripts/samples/support.json" }

local function data(words) return json.decode((does(words))) end

--- The whole number of "1,234"; nil for other texts.
local function number_of(word) return word and math.tointeger(tonumber((word:gsub(",", "")))) end

local function sum(list, field)
  local total = 0
  for _, each in ipairs(list) do total = total + each[field] end
  return total
end

--- Returns the sum of the first table of a page of `ebb report`, and the figures above it.
local function page_figures(html)
  local head = html:match "<h1>.-<tbody>(.-)</tbody>"
  local total = 0
  for row in head:gmatch "<tr>(.-)</tr>" do
    local cells = {}
    for cell in row:gmatch "<td[^>]*>(.-)</td>" do cells[#cells + 1] = cell end
    total = total + number_of(cells[3])
  end
  local messages, tokens, trust = html:match "<p>([%d,]+) messages, ([%d,]+) tokens %((%a+)%)"
  return { messages = number_of(messages), tokens = number_of(tokens), trust = trust, rows = total }
end

--- The row of a batch on that page: its cells.
local function batch_row(html, index)
  local row = html:match(('<tr><td class="number">%d</td>(.-)</tr>'):format(index))
  local cells = {}
  for cell in row:gmatch "<td[^>]*>(.-)</td>" do cells[#cells + 1] = cell end
  return { changed = cells[4], messages = number_of(cells[5]), tokens = number_of(cells[6]) }
end

--- "36 dropped, 1 inserted", as the log and the page say it.
local function changes_of(report)
  local words = {}
  for _, action in ipairs { "dropped", "replaced", "inserted" } do
    if report[action] > 0 then words[#words + 1] = ("%d %s"):format(report[action], action) end
  end
  return table.concat(words, ", ")
end

describe("the commands", function()
  local place_of

  before_each(function()
    command.make_folder()
    command.environment = ("EBB_DB=%s "):format(path_of "s.db")
    for name, body in pairs(BODIES) do file(name, body) end
    function place_of(name) return BODIES[name] and path_of(name) or name end
  end)

  after_each(function()
    command.environment = nil
    command.remove_folder()
  end)

  for _, name in ipairs(FILES) do
    for _, options in ipairs(OPTIONS) do
      it(("count %s %s alike"):format(name, options), function()
        local words = ("%s %s --json"):format(place_of(name), options)
        local whole = data("count " .. words)[1]
        for part, list in pairs { role = "roles", message = "messages", tool = "tools" } do
          local parts = data("count --by " .. part .. " " .. words)[1]
          local others = parts.otherMessages and parts.otherMessages.tokens or 0
          assert.equal(whole.tokens, sum(parts[list], "tokens") + others + parts.framingTokens, part)
        end

        local shown = data("inspect " .. words)
        assert.same({ whole.tokens, whole.trust }, { shown.tokens, shown.trust })
        assert.equal(whole.tokens, sum(shown.messages, "tokens") + shown.framingTokens)

        local page = page_figures((does(("report %s %s"):format(place_of(name), options))))
        assert.same({ messages = #shown.messages, tokens = whole.tokens, trust = whole.trust, rows = whole.tokens },
          page)

        does(("session new s %s %s"):format(place_of(name), options))
        assert.equal(whole.tokens, data("session ls --json")[1].tokens)
        assert.equal(whole.tokens, data("session log s --json")[1].tokens)
        contains((" %d tokens"):format(whole.tokens), (does "session log s"))

        local trimmed, said = does(("trim --dry-run --budget 1m %s"):format(words))
        local from, to = said:match "; (%d+) tokens become (%d+)"
        local before = json.decode(trimmed).before
        assert.same({ whole.tokens, before }, { tonumber(from or before), tonumber(to or before) })
      end)
    end

    it("replay and trim within one budget: " .. name, function()
      for _, options in ipairs(OPTIONS) do
        local words = ("%s %s --json"):format(place_of(name), options)
        local whole = data("count " .. words)[1].tokens
        local trimmed = data("trim --dry-run --budget 250% " .. words)
        local played = data(("trim --replay --budget 250%% --requests %s %s"):format(path_of "r.jsonl", words))
        local said = data("trim --suggest --budget 250% " .. words)
        assert.equal(5 * whole // 2, trimmed.budget + trimmed.margin, options)
        assert.same({ trimmed.budget, trimmed.margin }, { played.budget, played.margin }, options)
        assert.same({ trimmed.budget, trimmed.margin }, { said.budget, said.margin }, options)
        assert.equal(played.policies[1].tokensSent, said.policies[1].tokensSent)

        local sent = 0
        for line in io.lines(path_of "r.jsonl") do
          local request = json.decode(line)
          if request.policy == "none" then sent = sent + request.tokens end
        end
        assert.equal(sent, played.policies[1].tokensSent)
        assert(os.remove(path_of "r.jsonl"))
      end
    end)
  end

  it("replay a policy with the same figures in both reports", function()
    for _, name in ipairs { "chat.jsonl", "support.json" } do
      local words = ("scripts/samples/%s --budget 75%% --model claude-opus-4-5 --json --policy "):format(name)
      local played, said = data("trim --replay " .. words .. "digest"), data("trim --suggest " .. words .. "digest")
      local rows = {}
      for _, row in ipairs(said.policies) do rows[row.policy] = row end
      assert.equal(played.policies[2].policy, "digest")
      for _, row in ipairs(played.policies) do assert.same(row, rows[row.policy]) end
      assert.is_true(said.margin > 0)
      contains(("to fit %d tokens"):format(said.budget + said.margin), said.lines[2])
    end
  end)

  local TRIMS = {
    -- what is trimmed               options                     budget, policy
    { "scripts/samples/support.json", "",                         "40%", "keep_recent" },
    { "scripts/samples/support.json", "--model claude-opus-4-5",  "50%", "digest" },
    { "scripts/samples/support.json", "--encoding bytes4",        "60%", "clear_tool_uses,keep_recent" },
    { "scripts/samples/support.json", "--model gemini-2.5-flash", "70%", "shrink_results,stable_prefix" },
    { "scripts/samples/chat.jsonl",   "--model gpt-4o",           "70%", "agent" },
    { "anthropic.json",               "--encoding bytes4",        "80%", "keep_recent" },
    { "responses.json",               "",                         "90%", "keep_recent" },
  }

  for _, row in ipairs(TRIMS) do
    local name, options, budget, policy = table.unpack(row)
    it(("tell the same of a trim: %s %s to %s by %s"):format(name, options, budget, policy), function()
      does(("session new s %s %s"):format(place_of(name), options))
      local words = ("trim --session s %s --budget %s --policy %s --json"):format(options, budget, policy)
      local dry = data(words .. " --dry-run")
      local _, err = does(words)
      local report = json.decode(err:match "{.*}")
      for _, field in ipairs { "before", "after", "kept", "dropped", "replaced", "inserted", "budget", "margin" } do
        assert.equal(dry[field], report[field], field)
      end
      local messages = report.kept + report.replaced + report.inserted
      assert.is_true(report.dropped + report.replaced > 0)

      local log, listed = data("session log s --json"), data("session ls --json")[1]
      local batch, html = log[#log], (does("report --session s " .. options))
      assert.same({ messages, report.after, report.dropped, report.replaced, report.inserted },
        { batch.messages, batch.tokens, batch.dropped, batch.replaced, batch.inserted })
      assert.same({ log[1].messages, log[1].tokens }, { report.kept + report.dropped + report.replaced, report.before })
      assert.same({ messages, report.after }, { listed.messages, listed.tokens })
      contains((": %d messages, %d tokens, %s;"):format(messages, report.after, changes_of(report)),
        (does "session log s"))
      assert.same({ changed = changes_of(report), messages = messages, tokens = report.after },
        batch_row(html, batch.index))
      assert.same({ report.after, messages }, { page_figures(html).rows, page_figures(html).messages })
      assert.equal(report.after, data("count --session s --json " .. options)[1].tokens)
    end)
  end
end)
