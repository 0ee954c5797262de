--- Checks `make docs`: how comments and annotations are read, and whether the manual and the completions work.

package.path = "scripts/tools/?.lua;" .. package.path

local annotations = require "reference.annotations"
local header = require "reference.header"
local helper = dofile "tests/lua/helper.lua"
local markdown = require "reference.markdown"

local ebb = os.getenv "EBB" or (os.getenv "EBB_BUILD" or "build") .. "/ebb"

--- Returns what a shell command prints, and whether it succeeded.
local function output_of(line)
  local pipe = io.popen(line .. " 2>&1")
  local out = pipe:read "a"
  return out, (pipe:close())
end

--- The files of annotations.
local function annotation_files()
  local pipe, list = io.popen "ls lua/ebb/meta/*.lua", {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

local function has(program) return os.execute("command -v " .. program .. " >/dev/null") end

local ANNOTATED = [[
---@meta
--- About all of it.

---@alias Side "left"|"right"   where it stands
---@alias Code
---| "io"      # reading failed
---| "limit"   too much

---@class Box: Thing   Holds things
---@field size integer  in cells
---                     of eight bits
---@field open? fun(box: Box, n?: integer): true?, string?   may refuse
local Box = {}
--- Puts one in.
---@class Put
---@field at? integer
---@param thing { name: string, tags: string[] }   any
---@param options? Put
---@return integer|false place  from 1
---@return string? why
function Box:put(thing, options) end
---@param ... any
function box.new(...) end
]]

describe("the reader of annotations", function()
  local items, introduction = annotations.read(ANNOTATED)
  local by_name = {}
  for _, item in ipairs(items) do by_name[item.name] = item end

  it("takes the comment at the head as the introduction", function()
    assert.equal("About all of it.", introduction)
  end)

  it("reads aliases with and without a list of values", function()
    assert.same({ '"left"|"right"', "where it stands" }, { by_name.Side.type, by_name.Side.text })
    assert.same({ { value = '"io"', text = "reading failed" }, { value = '"limit"', text = "too much" } },
      by_name.Code.values)
  end)

  it("reads fields: name, type, whether it may be left out, text over several lines", function()
    local box = by_name.Box
    assert.same({ "Thing", "Holds things" }, { box.parent, box.text })
    assert.same({ name = "size", type = "integer", optional = false, text = "in cells\nof eight bits" }, box.fields[1])
    assert.same({ name = "open", type = "fun(box: Box, n?: integer): true?, string?", optional = true,
      text = "may refuse" }, box.fields[2])
  end)

  it("gives a function the text above the class of its options", function()
    local put = by_name.put
    assert.same({ "Box", ":", "Puts one in." }, { put.owner, put.separator, put.text })
    assert.equal("", by_name.Put.text)
    assert.same({ "thing", "options" }, { put.parameters[1].name, put.parameters[2].name })
    assert.same({ name = "place", type = "integer|false", optional = false, text = "from 1" }, put.results[1])
    assert.same({ name = "why", type = "string?", optional = true, text = "" }, put.results[2])
  end)

  it("keeps the owner of functions that belong to no class", function()
    assert.same({ "box", "." }, { by_name.new.owner, by_name.new.separator })
  end)
end)

describe("the reader of headers", function()
  local blocks = header.read [[
/*
** All of it.
**
**     a drawing
*/
#ifndef X_H
#define X_H
#include <stddef.h>
/* ---- things ---- */

/* Makes a thing.
   NULL: out of memory. */
X_API thing *thing_new(size_t size);
X_API void   thing_free(thing *thing);   /* NULL is allowed */

typedef struct thing {
  int n;   /* a count; not more */
} thing;
#endif
]]

  it("joins a comment with the declarations right below it", function()
    assert.equal("All of it.\n\n    a drawing", blocks[1].text)
    assert.same({ section = "things", text = "Makes a thing.\nNULL: out of memory.",
      code = { "X_API thing *thing_new(size_t size);",
        "X_API void   thing_free(thing *thing);   /* NULL is allowed */" } }, blocks[3])
  end)

  it("takes a struct whole, with the comments in it", function()
    assert.equal("typedef struct thing {\n  int n;   /* a count; not more */\n} thing;", blocks[4].code[1])
    assert.equal(4, #blocks)
  end)
end)

describe("Markdown", function()
  it("escapes bars, joins lines, and leaves out columns without values", function()
    assert.equal("| a | c |\n| --- | --- |\n| `x\\|y` | one two |\n",
      markdown.table({ "a", "b", "c" }, { { markdown.code "x|y", "", "one\n two" } }))
  end)

  it("puts texts with backticks into longer fences", function()
    assert.equal("`` a`b ``", markdown.code "a`b")
  end)
end)

describe("the codes of errors", function()
  local listed = {}
  setup(function()
    for _, path in ipairs(annotation_files()) do
      for _, item in ipairs((annotations.read(helper.read(path)))) do
        if item.name == "ebb.ErrorCode" then
          for _, entry in ipairs(item.values) do listed[entry.value:match '^"(.*)"$'] = entry.text end
        end
      end
    end
  end)

  it("have a meaning each, and include every status of the C API that is an error", function()
    for code, text in pairs(listed) do assert.truthy(text:find "%a", code) end
    local statuses = helper.read("runtime/include/ebb.h"):match "enum ebb_status (%b{})"
    local count = 0
    for name in statuses:gmatch "\n%s*EBB_([%u_]+)%f[^%u_],?%s" do
      local code = name:lower()
      if code ~= "ok" and code ~= "more" and code ~= "none" and code ~= "range" then
        assert.truthy(listed[code], code)
        count = count + 1
      end
    end
    assert.is_true(count >= 24)
  end)

  it("include every one that the library raises", function()
    local pipe = io.popen [[grep -rhoE "(refuse|core\.error)\(\"[a-z_]+\"" lua/ebb]]
    for line in pipe:lines() do assert.truthy(listed[line:match '"(.*)"'], line) end
    pipe:close()
  end)
end)

describe("the reference", function()
  local folder = os.tmpname()
  os.remove(folder)

  setup(function()
    local out, ok = output_of(("%s run scripts/tools/reference.lua %s </dev/null"):format(ebb, folder))
    assert(ok, out)
  end)
  teardown(function() os.execute(("rm -rf '%s'"):format(folder)) end)

  it("is in the checkout as the sources make it", function()
    for _, place in ipairs { "docs/reference", "docs/man", "docs/completions" } do
      local out, same = output_of(("diff -rq '%s/%s' %s"):format(folder, place, place))
      assert(same, "run make docs\n" .. out)
    end
  end)

  it("describes every function of the header", function()
    local page = helper.read(folder .. "/docs/reference/c-api.md")
    local count = 0
    for name in helper.read("runtime/include/ebb.h"):gmatch "EBB_API [%w_ %*]-(ebb_[%w_]+)%(" do
      assert.truthy(page:find(name .. "(", 1, true), name)
      count = count + 1
    end
    assert.is_true(count > 90)
  end)

  it("links only to headings and pages that exist", function()
    local pipe = io.popen(("ls '%s'/docs/reference/*.md"):format(folder))
    for path in pipe:lines() do
      local page, anchors, anchor_of = helper.read(path), {}, markdown.anchors()
      for heading in page:gmatch "\n#+ ([^\n]+)" do anchors[anchor_of(heading)] = true end
      for target in page:gmatch "%]%(#([^)]+)%)" do assert.truthy(anchors[target], path .. "#" .. target) end
      for target in page:gmatch "%]%(([%w%-]+%.md)[#)]" do
        assert.truthy(io.open(folder .. "/docs/reference/" .. target), target)
      end
    end
    pipe:close()
  end)

  it("has a manual that the formatter takes without a warning", function()
    if not has "groff" then return pending "there is no groff" end
    local out, ok = output_of(("groff -man -Tutf8 -ww -z '%s/docs/man/ebb.1'"):format(folder))
    assert.same({ "", true }, { out, ok })
  end)

  it("completes commands and options in bash", function()
    local script = ([[bash -c 'source %s/docs/completions/ebb.bash
      words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _ebb; echo "${COMPREPLY[@]}"; }
      words ebb tri; words ebb trim --bud']]):format(folder)
    assert.equal("trim\n--budget\n", (output_of(script)))
  end)

  it("completes commands in fish", function()
    if not has "fish" then return pending "there is no fish" end
    local out = output_of(([[fish -c "source '%s/docs/completions/ebb.fish'; complete -C 'ebb tri'"]]):format(folder))
    assert.truthy(out:find("^trim\t"), out)
  end)

  for shell, file in pairs { zsh = "_ebb", fish = "ebb.fish" } do
    it("has completions that " .. shell .. " can read", function()
      if not has(shell) then return pending("there is no " .. shell) end
      assert.same({ "", true }, { output_of(("%s -n '%s/docs/completions/%s'"):format(shell, folder, file)) })
    end)
  end
end)
