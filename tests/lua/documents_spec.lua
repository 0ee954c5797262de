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

--- How documents call a variable, and the methods that it has.
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
