--- ebb limits: the table has every constant of the sources that bounds something, with its value.

local command = dofile "tests/lua/command.lua"
local core = require "ebb.support.core"
local helper = dofile "tests/lua/helper.lua"

--- Constants that bound nothing of a user's, by file and name, and why.
local OTHERS = {
  ["lua/ebb/cli/view/differences.lua"] = "what is shown", ["lua/ebb/cli/view/trace.lua"] = "what is shown",
  ["runtime/storage/sqlite_salvage.c TABLES_MAX"] = "tables that are declared at a time",
  ["runtime/state/state_tail.h"] = "from which on all is read",
  ["lua/ebb/cli/view/grid.lua"] = "what is shown",
  ["lua/ebb/cli/view/pretty.lua"] = "what is shown",
  ["lua/ebb/cli/view/terminal.lua"] = "what is shown",
  ["lua/ebb/support/schema/words.lua QUOTED_BYTES_MAX"] = "what is shown",
  ["lua/ebb/support/nearest_name.lua"] = "what is compared",
  ["runtime/core/list/call_links.h CALLS_NAMED_MAX"] = "how far results without an id are looked for",
  ["runtime/document/document_envelope.c ENVELOPE_COPY_MAX"] = "larger ones are shared, not copied",
  ["lua/ebb/support/suggest.lua LIST_MAX"] = "what is shown",
  ["lua/ebb/support/lcs.lua PAIRS_MAX"] = "how carefully equal lines are searched",
  ["lua/ebb/macros/messages.lua VALUE_BYTES_MAX"] = "what is shown",
  ["lua/ebb/macros/evaluate.lua SOURCE_BYTES_MAX"] = "what is shown",
  ["lua/ebb/macros/parse.lua LABEL_BYTES_MAX"] = "what is shown",
  ["lua/ebb/macros/parse.lua NAME_BYTES_MAX"] = "longer words are text",
  ["lua/ebb/macros/environment.lua"] = "a calendar's range",
  ["lua/ebb/macros/calendar.lua"] = "a calendar's range",
  ["lua/ebb/macros/builtin/chance.lua EXACT_MAX"] = "a property of JSON's numbers",
  ["lua/ebb/macros/builtin/variables.lua DIGITS_MAX"] = "a property of JSON's numbers",
  ["lua/ebb/workflow/init.lua BYTES_MAX"] = "locate's",
  ["lua/ebb/macros/registry.lua ARGUMENTS_MAX"] = "none",
  ["lua/ebb/processors/token_limiter.lua"] = "estimates",
  ["lua/ebb/rules/schema.lua DEPTH_MAX"] = "no bound in practice",
  ["lua/ebb/rules/schema.lua TRIMS_MAX"] = "REGEX_TRIMS_MAX",
  ["lua/ebb/models/checked_images.lua"] = "a cache", ["lua/ebb/models/usage_reports.lua"] = "the same",
  ["lua/ebb/libebb/init.lua TIMER_MAX"] = "a hundred years",
  ["lua/ebb/libebb/json_form.lua DEPTH_MAX"] = "JSON_DEPTH_MAX",
  ["lua/ebb/windows/parameters.lua QUOTED_BYTES_MAX"] = "what is shown",
  ["lua/ebb/windows/parameters.lua PROBLEMS_MAX"] = "what is shown",
  ["lua/ebb/windows/act.lua CANDIDATES_MAX"] = "what is shown",
  ["lua/ebb/windows/act.lua NAMES_MAX"] = "what is searched",
  ["lua/ebb/windows/model_text.lua REASON_MAX"] = "what is shown",
  ["lua/ebb/windows/markup_read.lua NODES_MAX"] = "elements.NODES_MAX",
  ["lua/ebb/policies/digest/values.lua LENGTH_MAX"] = "longer strings are prose",
  ["lua/ebb/policies/digest/values.lua QUOTE_MAX"] = "longer quotes are prose",
  ["lua/ebb/policies/digest/values.lua LABEL_MAX"] = "what is shown",
  ["lua/ebb/import/foreign.lua"] = "what is shown",
  ["lua/ebb/import/source.lua"] = "what recognition looks at",
  ["lua/ebb/import/many.lua"] = "what is shown",
  ["lua/ebb/import/turns.lua"] = "names of functions",
  ["lua/ebb/lorebook/timers.lua"] = "how far back rollbacks are exact",
  ["runtime/base/lower.c"] = "a step",
  ["runtime/regex/keyword_set.c"] = "numbers of 32 bits",
  ["lua/ebb/import/libraries/langchain.lua"] = "what recognition looks at",
  ["lua/ebb/trim/options.lua TOKENS_MAX"] = "budget.max",
  ["runtime/codec/image_header.c HEAD_MAX"] = "a header",
  ["runtime/codec/data_uri.c HEAD_MAX"] = "a header",
  ["runtime/json/json_fields.h JSON_FIELDS_MAX"] = "of callers in C",
  ["runtime/json/json_edit.h JSON_EDITS_MAX"] = "the same",
  ["runtime/host/child.c DESCRIPTORS_MAX"] = "where the system closes no range",
  ["runtime/sandbox/guard.c"] = "amounts of a charge",
  ["runtime/sandbox/text_cost.c"] = "limits of Lua itself",
  ["runtime/document/document.c ENVELOPE_COPY_MAX"] = "when bytes are copied",
  ["runtime/dialect/check/check_responses.c"] = "limits of a provider",
  ["runtime/document/request_cost.c DEPTH_MAX"] = "what is estimated",
  ["runtime/dialect/tool_text.c LEVEL_MAX"] = "the same",
  ["runtime/api/call.c SIZE_MAX_ANY"] = "sizes of structs",
  ["runtime/api/window.c CONTENT_MAX"] = "ebb.windows.view BYTES_MAX",
  ["runtime/bind/json_decode.c WAITING_MAX"] = "a step",
  ["runtime/bind/error.c NAME_MAX_SIZE"] = "what is compared",
  ["runtime/host/http.c"] = "the head of an answer, and of a request that we write",
  ["runtime/os/posix/file_temporary.c"] = "what is larger is reported as lost",
  ["runtime/host/repl.c PROMPT_MAX"] = "a prompt",
  ["runtime/tokens/vocab/vocab_image.h TOKEN_BYTES_MAX"] = "VOCAB_TOKEN_BYTES_MAX",
  ["runtime/tokens/pretoken/regex_cut.h"] = "stages of a known expression",
  ["runtime/tokens/estimate.c"] = "a step",
  ["runtime/tokens/merge/bpe.c"] = "a step",
  ["runtime/tokens/merge/premerge.c"] = "a step",
  ["runtime/tokens/vocab/vocab_place.c"] = "a step",
  ["runtime/tokens/image_cost.c"] = "a provider's rule",
  ["runtime/tokens/merge/merge_lockstep.h"] = "a step",
  ["runtime/regex/pattern.c"] = "a step",
  ["runtime/regex/word.h"] = "longer ones are searched for by PCRE2",
  ["runtime/regex/regex.c"] = "PCRE2's, reported as a failure of the rule",
  ["runtime/core/message/store.h STORE_CALLS_MAX"] = "a step",
  ["runtime/core/draft/evict_oldest.c"] = "a step",
  ["runtime/core/message/arena.c"] = "a block",
  ["runtime/storage/sqlite_connection.c LOG_PAGES_MAX"] = "when the log is emptied",
  ["runtime/storage/postgres_data.h POSTGRES_VALUES_MAX"] = "of a known statement",
}

local function files_of(words)
  local pipe, list = assert(io.popen(words)), {}
  for path in pipe:lines() do list[#list + 1] = path end
  assert(pipe:close())
  return list
end

--- The names of constants that end with MAX, or call themselves a limit.
local function constants_of(path)
  local text, names = helper.read(path), {}
  local is_c = path:find "%.[ch]$"
  for line in text:gmatch "[^\n]+" do
    if is_c and line:find "^#define" then
      local name = line:match "^#define%s+([A-Z_]+_MAX[A-Z_]*)%s"
      names[#names + 1] = name
    elseif is_c then
      for name in line:gmatch "([A-Z_]+_MAX[A-Z_]*)%s*=%s*[%d(A-Z]" do names[#names + 1] = name end
    else
      names[#names + 1] = line:match "^local ([A-Z_]*MAX[A-Z_]*) =" or line:match "^[%l_]+%.([A-Z_]+_MAX) ="
        or line:match "^[%l_]+%.([A-Z_]+_LIMIT) ="
    end
  end
  return names
end

describe("ebb limits", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local function listed()
    return core.json.decode((command.does "limits --json"))
  end

  it("has every constant of the sources that bounds what users hand in", function()
    local known = {}
    for _, limit in ipairs(listed()) do
      local module, field = limit.source:match "^(%S+) ([%w_]+)"
      if module then
        local path = "lua/" .. module:gsub("%.", "/")
        known[path .. ".lua " .. field], known[path .. "/init.lua " .. field] = true, true
      else
        known[limit.source] = true
      end
    end
    local missing = {}
    local sources = files_of "find lua/ebb runtime -name '*.lua' -o -name '*.[ch]' | grep -v lua/ebb/meta | sort"
    for _, path in ipairs(sources) do
      for _, name in ipairs(constants_of(path)) do
        local is_known = known[name] and not path:find "%.lua$" or known[path .. " " .. name]
        if not is_known and not OTHERS[path] and not OTHERS[path .. " " .. name] then
          missing[#missing + 1] = path .. " " .. name
        end
      end
    end
    assert.equal("", table.concat(missing, "\n"))
  end)

  it("says what raises a limit, by options that exist", function()
    local commands = files_of "find lua/ebb/cli -name '*.lua' | sort"
    local sources = {}
    for i, path in ipairs(commands) do
      if not path:find "limits%.lua$" then sources[i] = helper.read(path) else sources[i] = "" end
    end
    local all, count = table.concat(sources), 0
    for _, limit in ipairs(listed()) do
      for option in (limit.raise or ""):gmatch "%-%-[%l-]+" do
        count = count + 1
        assert.truthy(all:find(('"%s"'):format(option), 1, true), option)
      end
    end
    assert.is_true(count >= 12)
  end)

  it("shows amounts as people write them", function()
    local text = command.does "limits"
    for _, words in ipairs { "a message%s+16 MiB%s+%-%-max%-message", "levels", "models.json%s+1 MiB\n",
      "its time%s+120 s%s+%-%-model%-timeout", "windows of a conversation, closed ones too%s+65,536 windows",
      "dice of a roll%s+100 dice" } do
      assert.truthy(text:find(words), words)
    end
    assert.is_true(#listed() >= 80)
  end)

  it("holds where it is told: depth, sorting, dice, the size of models.json", function()
    local by_source = {}
    for _, limit in ipairs(listed()) do by_source[limit.source] = limit.value end
    local function nested(depth) return ("["):rep(depth) .. ("]"):rep(depth) end
    local depth = by_source.JSON_DEPTH_MAX
    assert.is_nil((select(2, core.json.decode(nested(depth)))))
    assert.equal("limit", select(2, core.json.decode(nested(depth + 1))).code)
    local filter = "return function(m) local t = {} for i = 1, %d do t[i] = -i end table.sort(t) end"
    local words = "filter '%s' --input " .. command.path_of "small.json"
    command.does(words:format(filter:format(by_source.SORT_MAX)))
    command.fails(command.SCRIPT, words:format(filter:format(by_source.SORT_MAX + 1)))
    local macros = require "ebb.macros"
    local dice, environment = by_source["ebb.macros.bounds DICE_MAX"], macros.environment { values = {}, now = 0 }
    local function problems_of(count)
      return #select(2, macros.expand(("{{roll::%dd2}}"):format(count), environment)).errors
    end
    assert.same({ 0, 1 }, { problems_of(dice), problems_of(dice + 1) })
    os.execute("mkdir -p " .. command.path_of "config/ebb")
    command.environment = "XDG_CONFIG_HOME=" .. command.path_of "config"
    local size = by_source["ebb.cli.io.entries_file BYTES_MAX"]
    command.file("config/ebb/models.json", "{}" .. (" "):rep(size - 2))
    local fits = command.ebb("count " .. command.path_of "small.json")
    command.file("config/ebb/models.json", "{}" .. (" "):rep(size - 1))
    local beyond = command.ebb("count " .. command.path_of "small.json")
    command.environment = nil
    assert.equal(0, fits.status)
    assert.equal(command.REFUSED, beyond.status)
  end)
end)
