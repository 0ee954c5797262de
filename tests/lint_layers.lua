--- Holds the files against the layers of the architecture: who may include or
-- require whom, who may see Lua's headers, that C stays within its columns, and
-- that no machine's paths are in the files. Run from the top of the checkout; exit status 1 if anything is wrong.

local complaints = 0

local function complain(...)
  complaints = complaints + 1
  io.stderr:write(string.format(...), "\n")
end

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  assert(pipe:close(), command)
  return lines
end

local function ranks(order)
  local rank = {}
  for i, names in ipairs(order) do
    for name in names:gmatch "%S+" do
      rank[name] = i
    end
  end
  return rank
end

-- ---- C: each hall, a folder of runtime/, may use those that are below it ----

--- The halls of dialect/ form one layer: dialect.c names the rules of all; and os/ is the face of its ports.
local TOGETHER = { dialect = true, os = true }
local C_RANK = ranks {
  "base", "os/posix os", "codec json regex", "tokens/pretoken", "tokens/vocab", "tokens/merge", "tokens",
  "core/message", "core/list", "core/history", "core", "core/draft",
  "dialect dialect/read dialect/check dialect/convert dialect/repair", "document", "state",
  "storage", "sandbox", "bind", "api", "host",
}
--- Headers that only files of their own hall include.
local PRIVATE = ranks { [[
  os/posix/file_calls tokens/merge/bpe tokens/merge/count_cache tokens/merge/merge_in_order
  tokens/merge/merge_lockstep tokens/merge/premerge tokens/pretoken/nfc tokens/pretoken/pretoken_rules
  tokens/pretoken/pretoken_window tokens/vocab/tokenizer_json_parts
  tokens/vocab/vocab_builder tokens/vocab/vocab_merge tokens/vocab/vocab_place tokens/vocab/vocab_trie
  core/conversation_data core/merge_memory core/draft/draft_data core/draft/draft_thinking core/draft/evict_oldest
  core/history/batch core/history/checkpoint core/list/sequence_node core/message/arena core/message/message_data
  core/message/store_data dialect/check/check_codes dialect/repair/repair_anthropic_turns document/convert_list
  document/detect document/document_loader document/request_cost document/salvage state/state_parts state/state_writer
  storage/postgres_data storage/sqlite_data
]] }
local SEES_LUA = { bind = true, sandbox = true, api = true, host = true }
local LUA_HEADERS = { ["lua.h"] = true, ["lauxlib.h"] = true, ["lualib.h"] = true, ["luaconf.h"] = true }

--- The headers of system calls; only a port below os/ has them, and the command.
local SYSTEM_HEADERS = {
  ["dirent.h"] = true, ["dlfcn.h"] = true, ["fcntl.h"] = true, ["locale.h"] = true, ["poll.h"] = true,
  ["pthread.h"] = true, ["sched.h"] = true, ["signal.h"] = true, ["time.h"] = true, ["unistd.h"] = true,
}
local MAKES_SYSTEM_CALLS = { ["os/posix"] = true, host = true }

--- Checks an `#include` of a file of `hall`.
local function check_include(path, number, hall, header)
  local layer = hall:match "^%w+"
  if (SYSTEM_HEADERS[header] or header:find "^sys/" or header:find "^linux/") and not MAKES_SYSTEM_CALLS[hall] then
    complain("%s:%d: system calls belong into os/posix/ (%s)", path, number, header)
  end
  if LUA_HEADERS[header] and not SEES_LUA[layer] then
    complain("%s:%d: %s/ may not know Lua (%s)", path, number, layer, header)
  end
  local other = header:match "^([%w/]+)/"
  if other == nil or other == hall or not C_RANK[other] then return end
  local is_together = TOGETHER[layer] and other:match "^%w+" == layer
  if C_RANK[other] >= C_RANK[hall] and not is_together then
    complain("%s:%d: %s/ may not use %s/ (%s)", path, number, hall, other, header)
  end
  if PRIVATE[header:gsub("%.h$", "")] then
    complain("%s:%d: %s belongs to the files of its folder", path, number, header)
  end
end

local function check_c_file(path)
  local hall = path:match "^runtime/([%w/]+)/"
  if hall == "include" then return end
  if not C_RANK[hall] then return complain("%s: %s/ is no hall", path, hall or "runtime") end
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    local header = line:match '^%s*#%s*include%s*["<]([^">]+)[">]'
    if header then check_include(path, number, hall, header) end
  end
end

-- ---- Lua: the same for folders of lua/ebb; a few files are outside of them ----

local LUA_RANK = ranks {
  "support", "models conversation", "sandbox windows session",
    "policies injection lorebook rules macros request",
  "trim import", "replay provider", "processors", "pipeline", "workflow", "cli libebb",
}
--- Folders that libebb does not embed: the Makefile's COMMAND_ONLY. Only the face names them, for the command.
local COMMAND_ONLY = {}
for line in io.lines "Makefile" do
  for name in (line:match "^COMMAND_ONLY = (.+)" or ""):gmatch "%w+" do COMMAND_ONLY[name] = true end
end
assert(next(COMMAND_ONLY), "the Makefile has no COMMAND_ONLY")
local CORE_HOLDER = "lua/ebb/support/core.lua"   -- the one place that requires ebb.core

--- Folders of the command, from the ground. Files next to them say how commands fail, and find the one that is named.
local CLI_RANK = { view = 1, io = 2, host = 3, many = 4, replay = 4, commands = 5 }

local function check_cli(path, number, module, other)
  local from, to = module:match "^ebb%.cli%.(%w+)%.", other:match "^ebb%.cli%.(%w+)%."
  if from == nil or to == nil or from == to then return end
  assert(CLI_RANK[from] and CLI_RANK[to], path)
  if CLI_RANK[to] >= CLI_RANK[from] then
    complain("%s:%d: cli/%s may not require cli/%s (%s)", path, number, from, to, other)
  end
end

--- The layer that a module belongs to: its folder, or for a file directly in
--- lua/ebb its name if that is a layer's.
local function layer_of(module)
  local word = module:match "^ebb%.([%w_]+)"
  return word and LUA_RANK[word] and word
end

--- True if the module, which has no layer of its own, may require `other`.
local function allowed_outside(module, other)
  local to = layer_of(other)
  if module == "ebb" then return to ~= "cli" and to ~= "libebb" end   -- the face shows everything but what stands on it
  return layer_of(other) == "support"
end

local function check_require(path, number, module, other)
  if other == "ebb.core" then
    if path ~= CORE_HOLDER then complain("%s:%d: only %s requires ebb.core", path, number, CORE_HOLDER) end
    return
  end
  local from, to = layer_of(module), layer_of(other)
  if not from then
    if not allowed_outside(module, other) then complain("%s:%d: may not require %s", path, number, other) end
  elseif other == "ebb.host" then
    if from ~= "cli" then complain("%s:%d: only the command has ebb.host", path, number) end
  elseif other == "ebb" then
    if from ~= "cli" and from ~= "libebb" then
      complain("%s:%d: %s may not require the face, ebb", path, number, from)
    end
  elseif COMMAND_ONLY[to] and not COMMAND_ONLY[from] then
    complain("%s:%d: libebb embeds %s, but not %s (%s)", path, number, from, to, other)
  elseif to and LUA_RANK[to] > LUA_RANK[from] then
    complain("%s:%d: %s may not require %s (%s)", path, number, from, to, other)
  elseif to and to ~= from and LUA_RANK[to] == LUA_RANK[from] then
    complain("%s:%d: %s and %s do not know each other (%s)", path, number, from, to, other)
  end
end

local function check_lua_file(path)
  local module = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", "."):gsub("%.init$", "")
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    if not line:find "^%s*%-%-" then
      for other in line:gmatch "require%s*%(?%s*[\"'](ebb[%w_.]*)[\"']" do
        check_require(path, number, module, other)
        check_cli(path, number, module, other)
      end
    end
  end
end

-- ---- columns ----

local COLUMNS = 120

--- Rows of tests' tables, and what they are made of, stay whole.
local function is_row(path, line)
  return path:find "^tests/" and (line:find "^%s*[{\"]" or line:find "^#define ")
end

local function check_columns(path)
  local number = 0
  for line in io.lines(path) do
    number = number + 1
    local columns = utf8.len(line) or #line
    if columns > COLUMNS and not is_row(path, line) then
      complain("%s:%d: %d columns, %d are the most", path, number, columns, COLUMNS)
    end
  end
end

-- ---- paths that exist on one machine only ----

local MACHINE = "(^|[^A-Za-z0-9_.])/(home|root|work|tmp)(/|[^A-Za-z0-9_]|$)"

local function check_machine_paths()
  local hits = lines_of("git grep --cached -nIE '" .. MACHINE .. "' -- . ':!tests/lint_layers.lua' || true")
  for _, line in ipairs(hits) do
    if not line:find "TMPDIR" then complain("a path of one machine: %s", line:sub(1, 160)) end
  end
end

for _, path in ipairs(lines_of "find runtime -name '*.[ch]' | sort") do
  check_c_file(path)
end
for _, path in ipairs(lines_of "find lua/ebb -name '*.lua' | sort") do
  check_lua_file(path)
end
for _, path in ipairs(lines_of "git ls-files '*.c' '*.h' '*.cpp'") do
  check_columns(path)
end
check_machine_paths()
os.exit(complaints == 0)
