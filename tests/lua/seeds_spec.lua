--- The examples and configurations of the design documents (seeds 000 to 004), as data. A folder tests/golden/seedNNN_*
--- has examples of one section, each next to its result:
--
--     operations.json, NAME.operations.json   operations on input.json, which is read with options.json
--     expected.json, NAME.expected.json       the whole state after them, or their refusal
--     NAME.command                            shell commands, run in the folder; $tmp is one of their own
--     NAME.expected                           what they print, errors too
--
-- `UPDATE=1 busted tests/lua/seeds_spec.lua` writes the results; read the difference before you keep it.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json
local workflow = require "ebb.workflow"

--- Examples of a kind: folder, path without the ending, and name of each.
local function examples_of(ending)
  local list, pipe = {}, io.popen(("ls tests/golden/seed*/*%s"):format(ending))
  for path in pipe:lines() do
    local stem = path:sub(1, -#ending - 1)
    list[#list + 1] = { folder = path:match "^(.*)/", stem = stem, name = stem:match "golden/(.-)[/.]?$" }
  end
  pipe:close()
  assert(list[1], "no examples of " .. ending)
  return list
end

--- Holds a text against a file; with UPDATE=1 writes it there.
local function compare(path, text)
  if os.getenv "UPDATE" then
    local file = assert(io.open(path, "w"))
    assert(file:write(text))
    assert(file:close())
  end
  assert.equal(helper.read(path), text)
end

local function decoded(path) return assert(json.decode(helper.read(path))) end

---- Operations ----

local function load_chat(example)
  local path = example.folder .. "/options.json"
  local options = command.read(path) and decoded(path) or {}
  options.clock = function() return 0 end
  return assert(ebb.load(example.folder .. "/input.json", options))
end

--- Writes the state after operations, or their refusal, as a golden file has it: an item of a list in each line,
--- without descriptions of batches, which are words for people.
local function result_of(chat, ok, problem)
  local members, result = {}, ok and chat:state() or { code = problem.code, message = problem.message }
  for _, batch in ipairs(result.batches or {}) do batch.description = nil end
  for _, name in ipairs { "code", "message", "messages", "batches", "currentBatch", "stats", "results" } do
    local value = result[name]
    if type(value) == "table" and value[1] then
      local items = {}
      for i, item in ipairs(value) do
        items[i] = "    " .. (name == "messages" and chat[i].json or json.encode(item))
      end
      members[#members + 1] = ('  "%s": [\n%s\n  ]'):format(name, table.concat(items, ",\n"))
    elseif value ~= nil then
      members[#members + 1] = ('  "%s": %s'):format(name, json.encode(value))
    end
  end
  return "{\n" .. table.concat(members, ",\n") .. "\n}\n"
end

--- Examples of which the result differs from the documents on purpose, and why.
local DIFFERENT = {
  ["seed000_operations/truncate_keepLast_0"] = "0 keeps nothing; slice(-0) keeps all",
  ["seed000_operations/insert_several"] = "insert starts a batch, as in the later document, and can be rolled back",
  ["seed000_operations/insert_beyond"] = "a position behind the list is a mistake, not the end",
  ["seed000_operations/insert_none"] = "no messages are a mistake",
  ["seed000_operations/replace"] = "replace starts a batch, so that the old message is not lost",
  ["seed004_state"] = "clear can be rolled back; the document's snapshot of it is empty",
}

describe("operations of the seeds:", function()
  setup(command.make_folder)
  teardown(command.remove_folder)

  for _, example in ipairs(examples_of "operations.json") do
    local function run_operations(chat)
      return pcall(chat.apply, chat, helper.read(example.stem .. "operations.json"))
    end

    it(example.name .. (DIFFERENT[example.name] and ": " .. DIFFERENT[example.name] or ""), function()
      local chat = load_chat(example)
      local ok, problem = run_operations(chat)
      compare(example.stem .. "expected.json", result_of(chat, ok, problem))
    end)

    it(example.name .. ", as nodes", function()
      local chat, operations = load_chat(example), decoded(example.stem .. "operations.json")
      local expected = decoded(example.stem .. "expected.json")
      local ran, report, problem = pcall(workflow.run, chat, operations[1] and operations or { operations })

      assert.equal(expected.code, not (ran and report) and (ran and problem or report).code or nil)
      if not expected.code then assert.same(expected.messages, chat:state().messages) end
    end)

    it(example.name .. ", at the command line", function()
      if command.read(example.folder .. "/options.json") then return end      -- options in JSON are no arguments
      local run = command.ebb(("apply %soperations.json %s/input.json"):format(example.stem, example.folder))

      local expected = decoded(example.stem .. "expected.json")
      if expected.code then return assert.matches(expected.message, run.err, 1, true) end
      assert.same(expected.messages, json.decode(run.out))
    end)

    it(example.name .. ", which lose nothing", function()
      local chat = load_chat(example)
      local before, length = chat:json(), #chat
      run_operations(chat)
      chat:rollback(0, length)

      assert.equal(before, chat:json())
    end)
  end
end)

--- A text without white space and quotes, of which JSON has more than the documents.
local function bare(text) return (text:gsub("[%s\"']", "")) end

describe("configurations are in the documents as they are here:", function()
  for _, name in ipairs { "seed000_1_truncate", "seed000_2_insert", "seed000_3_clear", "seed000_4_filter",
    "seed003_2_keep_last_users" } do
    it(name, function()
      local pipe = io.popen(("cat '%s'/seeds/%s_*.txt 2>/dev/null"):format(helper.shared, name:match "%d+"))
      local document = pipe:read "a"
      pipe:close()
      if document == "" then return pending "no documents: EBB_SHARED is not set" end

      local operations = bare(helper.read(("tests/golden/%s/operations.json"):format(name)))
      assert.truthy(bare(document):find(operations, 1, true), operations)
    end)
  end
end)

---- Commands ----

describe("commands of the seeds:", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local ebb_path = command.EBB:find "^/" and command.EBB or "$root/" .. command.EBB
  -- of the user's own folders nothing is found
  local ALONE = "unset COLUMNS EBB_DB EBB_VOCAB_PATH; export HOME=$tmp XDG_CONFIG_HOME=$tmp XDG_DATA_HOME=$tmp"

  for _, example in ipairs(examples_of ".command") do
    it(example.name, function()
      local pipe = io.popen(("root=$PWD tmp=%s; %s; ebb() { %s \"$@\"; }; cd %s; . ./%s.command 2>&1"):format(
        command.folder, ALONE, ebb_path, example.folder, example.stem:match "[^/]*$"))
      local printed = pipe:read "a"
      pipe:close()

      compare(example.stem .. ".expected", printed)
    end)
  end
end)
