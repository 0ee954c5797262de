--- Files that strangers' files name: modules next to a script, policies of an agent, files of a workflow in JSON,
--- entries of a folder. Only regular files below the folder of the file that names them are opened, through no link.

local command = dofile "tests/lua/command.lua"
local path_of, file, contains = command.path_of, command.file, command.contains

local SECRET = 'PASSWORD="hunter2"\nTOKEN=abcdef\n'

--- Runs the command, which refuses: nothing is written, the secret is nowhere, the error has all of these words.
local function refused(words, ...)
  local ebb = command.EBB
  command.EBB = "timeout -s KILL 60 " .. ebb
  local run = command.ebb(words)
  command.EBB = ebb
  assert.is_true(run.status > 0 and run.status < 64, words .. "\n" .. run.err)   -- it does not hang
  assert.equal("", run.out)
  for _, secret in ipairs { "hunter2", "abcdef", "PASSWORD", "TOKEN" } do
    assert.is_nil(run.err:find(secret, 1, true), run.err)
  end
  for _, word in ipairs { ... } do
    contains(word, run.err)
  end
end

--- Makes what a name in the folder `deep` is: what it shows, the shell command, the rule in the error.
local KINDS = {
  { "a link upward",           "ln -s ../secret.env deep/m.lua",                   "a symbolic link is not followed" },
  { "a link to a full path",   "ln -s $PWD/secret.env deep/m.lua",                 "a symbolic link is not followed" },
  { "a link to a link",        "ln -s m2.lua deep/m.lua; ln -s ../secret.env deep/m2.lua", "a symbolic link" },
  { "a link to standard input", "ln -s /dev/stdin deep/m.lua",                     "a symbolic link is not followed" },
  { "a link to itself",        "ln -s m.lua deep/m.lua",                           "a symbolic link is not followed" },
  { "a FIFO",                  "mkfifo deep/m.lua",                                "it is a FIFO" },
  { "a link to a FIFO",        "mkfifo f; ln -s ../f deep/m.lua",                  "a symbolic link is not followed" },
  { "a folder",                "mkdir deep/m.lua",                                 "it is a folder" },
  { "a file above the cap",    "head -c 1048577 /dev/zero >deep/m.lua",            "it is larger than 1048576 bytes" },
}

local function make(line)
  assert(os.execute(("cd %s && %s"):format(command.folder, line)))
end

local function setup()
  command.make_folder()
  os.execute("mkdir " .. path_of "deep")
  file("secret.env", SECRET)
end

describe("a module next to a strangers' script", function()
  before_each(setup)
  after_each(command.remove_folder)

  local users = {
    { "a policy", 'local m = require "m" return function(draft) end', "trim %s --budget 16 --policy %s" },
    { "a running policy", 'return function(draft) draft:note(require "m") end', "trim %s --budget 16 --policy %s" },
    { "draft:run", 'return function(draft) draft:run "m.lua" end', "trim %s --budget 16 --policy %s" },
    { "a filter", 'local m = require "m" return function() end', "filter --input %s %s" },
    { "a processor", 'local m = require "m" return { id = "x", name = "X", execute = function() end }',
      "pipeline %s --processor %s" },
    { "an agent", 'local m = require "m" return { name = "Mira" }', "pipeline %s --agent %s" },
    { "a macro", 'local m = require "m" return { name = "x", summary = "s", stability = "stable", run = print }',
      "pipeline %s --macro %s" },
  }
  for _, user in ipairs(users) do
    for _, kind in ipairs(KINDS) do
      it(("is not opened for %s: %s"):format(user[1], kind[1]), function()
        make(kind[2])
        local script = file("deep/user.lua", user[2])
        refused(user[3]:format(path_of "small.json", script), "deep/m.lua: " .. kind[3])
      end)
    end
  end

  it("is not opened in a folder that is a link", function()
    make "mkdir deep/sub && cp secret.env deep/sub/m.lua && cp secret.env m.lua"
    make "ln -s sub deep/link && ln -s .. deep/up"
    for _, name in ipairs { "link.m", "up.m" } do
      local script = file("deep/user.lua", ("require %q return function(draft) end"):format(name))
      refused(("trim %s --budget 16 --policy %s"):format(path_of "small.json", script),
        "a symbolic link is not followed")
    end
  end)

  it("is found next to it, below it and on the path, with a link to the script itself", function()
    make "mkdir deep/sub path && ln -s ../user.lua deep/link.lua"
    file("deep/m.lua", "return 'm'")
    file("deep/sub/n.lua", "return 'n'")
    file("path/o.lua", "return 'o'")
    local text = 'return function(draft, budget) draft:note(require "m" .. require "sub.n" .. require "o") '
      .. "draft:drop_oldest { to = budget } end"
    file("user.lua", text)
    local words = "trim %s --budget 16 --policy-path %s --policy %s --explain --dry-run"
    local _, err = command.does(words:format(path_of "small.json", path_of "path", path_of "deep/link.lua"))
    contains("mno", err)
  end)
end)

describe("the policy of a strangers' agent", function()
  before_each(setup)
  after_each(command.remove_folder)

  local function agent(policy, member)
    return file("deep/agent.json", ('{"name": "Mira", "%s": {"token-limiter": {"budget": 16, "policy": %s}}}')
      :format(member or "processors", policy))
  end
  local function words(path, option)
    return ("pipeline %s --%s %s"):format(path_of "small.json", option or "agent", path)
  end

  for _, kind in ipairs(KINDS) do
    it("is not opened: " .. kind[1], function()
      make(kind[2])
      refused(words(agent '"m.lua"'), "deep/m.lua: " .. kind[3])
    end)
  end

  it("lies below the agent's folder", function()
    refused(words(agent '"/dev/stdin"'), "/dev/stdin: an absolute path is not allowed")
    refused(words(agent(('"%s"'):format(path_of "secret.env"))), "secret.env: an absolute path is not allowed",
      "what a file names lies below")
    refused(words(agent '"../secret.env"'), "deep/../secret.env: a path may not hold '..'")
    refused(words(agent '"./../secret.env"'), "a path may not hold '..'")
    refused(words(agent '"keep_recent;../secret.env"'), "a path may not hold '..'")
    refused(words(agent '"scripts/policies/shrink_tools.lua"'), "there is no such file")   -- of the current folder
    local model = file("deep/model.json",
      '{"processors": {"token-limiter": {"budget": 16, "policy": "../secret.env"}}}')
    refused(words(model, "model-config"), "a path may not hold '..'")
    local lua = file("deep/agent.lua", 'return { processors = { ["token-limiter"] = { budget = 16, '
      .. 'policy = "../secret.env" } } }')
    refused(words(lua), "a path may not hold '..'")
    refused(words(lua) .. " --trusted", "a path may not hold '..'")
  end)

  it("runs where it lies there; the caller may name any file", function()
    make "mkdir deep/sub"
    file("deep/sub/mine.lua", "return function(draft, budget) draft:drop_oldest { to = budget } end")
    local plain = command.does(words(agent '"keep_recent"'))
    assert.equal(plain, (command.does(words(agent '"sub/mine.lua"'))))
    assert.equal(plain, (command.does(("%s --set token-limiter.policy=%s"):format(words(agent '"../secret.env"'),
      path_of "deep/sub/mine.lua"))))
  end)
end)

describe("files of a workflow in JSON", function()
  before_each(setup)
  after_each(command.remove_folder)

  local NODES = {
    { "policy", '[{"type": "trim", "budget": 16, "policy": %q}]' },
    { "policy by name", '[{"type": "trim", "budget": 16, "policy": {"name": %q}}]' },
    { "policy of a list", '[{"type": "trim", "budget": 16, "policy": ["keep_recent", %q]}]' },
    { "filter", '[{"type": "filter", "filter": %q}]' },
    { "script", '[{"type": "script", "file": %q}]' },
    { "type", '{"types": [%q], "nodes": [{"type": "x"}]}' },
  }
  local function words(node, path)
    return ("run %s --input %s"):format(file("deep/flow.json", node:format(path)), path_of "small.json")
  end

  for _, node in ipairs(NODES) do
    for _, kind in ipairs(KINDS) do
      it(("are not opened as a %s: %s"):format(node[1], kind[1]), function()
        make(kind[2])
        local dangles = kind[1] == "a link to itself"      -- so that the current folder is looked into
        refused(words(node[2], "m.lua"), dangles and "./m.lua: there is no such file" or "deep/m.lua: " .. kind[3])
      end)
    end

    it("lie below its folder or the current one: a " .. node[1], function()
      refused(words(node[2], "/dev/stdin"), "/dev/stdin: an absolute path is not allowed")
      refused(words(node[2], path_of "secret.env"), "an absolute path is not allowed")
      refused(words(node[2], "../secret.env"), "a path may not hold '..'")
    end)
  end

  it("have the folder of its file, whatever it says", function()
    local flow = '{"folder": "%s", "nodes": [{"type": "filter", "filter": "./secret.env"}]}'
    refused(words(flow, command.folder), "in JSON the folder is that of the file")
  end)

  it("may be any where the workflow is Lua, which has all rights", function()
    local filter = file("any.lua", "return function() return true end")
    make "ln -s ../any.lua deep/link.lua"
    local flow = file("deep/flow.lua", ([[return {
      { type = "filter", filter = %q }, { type = "filter", filter = "link.lua" } }]]):format(filter))
    command.does(("run %s --input %s"):format(flow, path_of "small.json"))
  end)
end)

describe("entries of a folder of processors or macros", function()
  before_each(setup)
  after_each(command.remove_folder)

  for _, option in ipairs { "processor", "macro" } do
    for _, kind in ipairs(KINDS) do
      it(("are not opened: %s, a %s"):format(kind[1], option), function()
        make(kind[2])
        refused(("pipeline %s --%s %s"):format(path_of "small.json", option, path_of "deep"), "m.lua: " .. kind[3])
      end)
    end
  end
end)

describe("a script that the caller names", function()
  before_each(setup)
  after_each(command.remove_folder)

  local POLICY = "return function(draft, budget) draft:drop_oldest { to = budget } end"

  it("may be reached by a link, a pipe, or standard input", function()
    file("policy.lua", POLICY)
    make "ln -s ../policy.lua deep/link.lua"
    local words = ("trim %s --budget 16 --policy "):format(path_of "small.json")
    local plain = command.does(words .. path_of "policy.lua")
    assert.equal(plain, (command.does(words .. path_of "deep/link.lua")))
    assert.equal(plain, (command.does(words .. "/dev/stdin", path_of "policy.lua")))
    assert.equal(plain, (command.does(("trim %s --budget 16 --policy-path %s --policy link")
      :format(path_of "small.json", path_of "deep"))))
    contains("larger than 1048576 bytes", command.fails(command.REFUSED, words .. "/dev/zero"))
  end)

  it("is looked for by name without being opened", function()
    make "mkdir path && mkfifo path/m.lua"
    refused(("trim %s --budget 16 --policy-path %s --policy mm"):format(path_of "small.json", path_of "path"),
      "unknown policy 'mm'")
  end)
end)
