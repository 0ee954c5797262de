--- The documents: their code runs and prints what they say it prints, and their links lead somewhere.

local document_blocks = dofile "tests/lua/document_blocks.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local markdown = dofile "scripts/tools/reference/markdown.lua"

local function lines_of(command)
  local pipe, list = io.popen(command), {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local TESTED = lines_of "ls README.md CONTRIBUTING.md docs/README.md docs/guide/*.md docs/internals/*.md 2>/dev/null"
local ALL = lines_of "find README.md CONTRIBUTING.md CHANGELOG.md docs scripts -name '*.md' 2>/dev/null | sort"

local function exists(path) return (os.rename(path, path)) end

describe("the code in", function()
  for _, path in ipairs(TESTED) do
    it(path, function()
      local updates = {}
      document_blocks.run(path, function(place, expected, got)
        if os.getenv "UPDATE" then
          if got ~= expected then table.insert(updates, 1, { place, got }) end
          return
        end
        assert.equal(expected, got, place)
      end, function(message) error(message, 0) end)
      for _, update in ipairs(updates) do document_blocks.update(path, update[1], update[2]) end
    end)
  end
end)

--- The anchors of a document's headings.
local function anchors_of(path)
  local anchors, anchor_of = {}, markdown.anchors()
  for heading in ("\n" .. helper.read(path)):gmatch "\n#+ ([^\n]+)" do anchors[anchor_of(heading)] = true end
  return anchors
end

--- Holds the links of a document: each file is there, each heading too.
local function check_links(path)
  local folder = path:match "^(.*/)" or ""
  for target in helper.read(path):gsub("```.-```", ""):gmatch "%]%(([^)%s]+)%)" do
    local file, anchor = target:match "^([^#]*)#?(.*)$"
    if not target:find "^%a+://" then
      local full = file == "" and path or folder .. file
      assert.truthy(exists(full), ("%s: %s"):format(path, target))
      if anchor ~= "" and full:find "%.md$" then assert.truthy(anchors_of(full)[anchor], target) end
    end
  end
end

describe("the links of", function()
  for _, path in ipairs(ALL) do
    it(path, function() check_links(path) end)
  end

  it("the documents that are installed", function()
    local folder = os.tmpname()
    os.remove(folder)
    finally(function() os.execute("rm -rf " .. folder) end)
    assert(os.execute(("make -s install-documents PREFIX=/usr DESTDIR=%s >/dev/null"):format(folder)))
    local pages = lines_of(("find %s -name '*.md'"):format(folder))
    assert.is_true(#pages > 30)
    for _, path in ipairs(pages) do check_links(path) end
  end)
end)

--- Names of variables in documents, and the methods that they have.
local METHODS = {
  { "chat", core.methods.Conversation }, { "draft", core.methods.Draft }, { "ledger", core.methods.Ledger },
  { "chat%.windows", core.methods.Windows },
}

describe("the methods that are named in", function()
  for _, path in ipairs(TESTED) do
    it(path, function()
      local page = helper.read(path)
      for _, each in ipairs(METHODS) do
        for name in page:gmatch("%f[%w]" .. each[1] .. ":([%a_]+)") do
          assert.truthy(each[2][name], ("%s:%s"):format(each[1], name))
        end
      end
      for name in page:gmatch "%f[%w]ebb%.([%a_]+)%s*[({]" do assert.truthy(helper.ebb[name], "ebb." .. name) end
    end)
  end
end)

describe("the table of other names for", function()
  local commands = require "ebb.cli.command_list"
  local policies = require "ebb.policies"
  local nodes = helper.read "docs/reference/nodes.md"
  local table_text = helper.read("docs/README.md"):match "### If you know it by another name(.-)\n%*%*%["

  --- Refuses an option that the reference of its command lacks.
  local function check_option(name, option)
    local section = helper.read("docs/reference/command-line.md"):match("\n## ebb " .. name .. "\n(.-)\n## ")
    assert.truthy(section, name)
    assert.truthy(section:find(option .. "%f[^%w-]"), ("ebb %s %s"):format(name, option))
  end

  local function check_command(words)
    local name = words:match "^ebb (%a+)"
    assert.truthy(commands.by_name[name], words)
    for option in words:gmatch "%-%-[%a-]+" do check_option(name, (option:gsub("%-", "%%-"))) end
  end

  --- Refuses a word that is no call, command, node or policy.
  local function check_word(word, cell)
    if word:find "^ebb " then return check_command(word) end
    if word:find "^ebb%." then return assert.truthy(helper.ebb[word:match "^ebb%.([%a_]+)"], word) end
    if word:find "^chat" then
      local methods = word:find "^chat%.windows" and core.methods.Windows or core.methods.Conversation
      return assert.truthy(methods[word:match ":([%a_]+)"], word)
    end
    if cell:find("policy `" .. word, 1, true) then return assert.truthy(policies.find(word), word) end
    if cell:find "node" then return assert.truthy(nodes:find("\n## " .. word .. "\n", 1, true), word) end
  end

  local count = 0
  for there, here in table_text:gmatch "\n| ([^|]+) | ([^\n]+) |%f[\n]" do
    if there ~= "there" and not there:find "^%-%-%-" then
      count = count + 1
      it(there .. " leads to what there is", function()
        local leads = here:find "%]%(" ~= nil
        for word in here:gmatch "`([^`]+)`" do
          leads = true
          check_word(word, here)
        end
        assert.is_true(leads)
      end)
    end
  end

  it("each idea of the design documents", function()
    assert.is_true(count >= 13, tostring(count))
    for _, name in ipairs { "MarkMap", "originalIndices", "batchBoundaries", "CONTEXT_PROCESSOR", "MarkWindowObsolete",
      "ContextStats", "RenderOptions", "PipelineContext", "ContextProcessor", "registerProcessor",
      "getAllTypeIndices" } do
      assert.truthy(table_text:find(name, 1, true), name)
    end
  end)
end)

describe("the targets of make that are named in", function()
  local makefile = helper.read "Makefile"
  for _, path in ipairs(TESTED) do
    it(path, function()
      for target in helper.read(path):gmatch "`make ([%l%-]+)" do
        assert.truthy(makefile:find("\n" .. target .. ":", 1, true), target)
      end
    end)
  end
end)

it("layers.md has every layer that lint knows, the upper ones first", function()
  local page = helper.read "docs/internals/layers.md"
  for order in helper.read("tests/lint_layers.lua"):gmatch "ranks (%b{})" do
    local above = math.huge
    for names in order:gmatch '"([^"]+)"' do
      local row
      for name in names:gmatch "%S+" do
        row = page:find("`" .. name .. "`", 1, true)
        assert(row and row < above, name .. " is missing or in the wrong place")
      end
      above = row
    end
  end
end)

it("where-does-a-change-go.md names files that exist", function()
  local count = 0
  for path in helper.read("docs/internals/where-does-a-change-go.md"):gmatch "`([%w_%-./]+/[%w_%-./]+)`" do
    if not path:find "NAME" then
      assert.truthy(exists(path), path)
      count = count + 1
    end
  end
  assert.is_true(count > 30)
end)
