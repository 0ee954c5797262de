--- Runs the code blocks of a document in a folder of its own, in order, as a reader would.
--
--     <!-- file: NAME -->       the next block is this file
--     <!-- not run: WHY -->     the next block is only shown
--     ```sh                     is run by sh, with `ebb`, the sample scripts and libebb at hand
--     ```lua                    without a name: is run by lua5.4 with the module on its path
--     <!-- needs: o200k_base --> what the next text block prints is not compared where that is not installed
--     ```text                   after a block that was run: what that printed on standard output
--     ```json                   without a name: is JSON
--
-- Any other block needs one of the comments. UPDATE=1 writes what was printed into the documents.

local vocabularies = require "ebb.models.vocabularies"

local document_blocks = {}

local build = os.getenv "EBB_BUILD" or "build"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

---@class Block
---@field line integer       of its first line of code
---@field language string
---@field mark? string       "file", "not run" or "needs"
---@field name? string       what the mark says
---@field code string

---@param text string
---@return Block[]
function document_blocks.of(text)
  local blocks, block, mark, name = {}, nil, nil, nil
  local number = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    local language = line:match "^```(%w*)$"
    if block and line == "```" then
      block = nil
    elseif block then
      block.code = block.code .. line .. "\n"
    elseif language then
      block = { line = number + 1, language = language, mark = mark, name = name, code = "" }
      blocks[#blocks + 1] = block
      mark, name = nil, nil
    elseif line:find "%S" then
      mark, name = line:match "^<!%-%- (%a[%a ]*): (.-) %-%->$"
    end
  end
  return blocks
end

local function absolute(path)
  if path:find "^/" then return path end
  local pipe = io.popen "pwd"
  local here = pipe:read "l"
  pipe:close()
  return here .. "/" .. path
end

--- A file for pkg-config that finds the headers and the library of this build.
local function package_file(folder)
  local library = absolute(build)
  write(folder .. "/.pkg/ebb.pc", ("Name: ebb\nDescription: this build\nVersion: 0\nCflags: -I%s\n"
    .. "Libs: -L%s -lebb -Wl,-rpath,%s\n"):format(absolute "runtime/include", library, library))
end

local function new_folder()
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir -p '%s/.pkg' && ln -s '%s' '%s/scripts'"):format(folder, absolute "scripts", folder)))
  package_file(folder)
  return folder
end

--- The shell's variables: programs find this build, and no settings of the user.
local function environment(folder)
  local top = absolute(build)
  return ("cd '%s' && HOME='%s' PATH='%s':\"$PATH\" PKG_CONFIG_PATH=.pkg LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;' "
    .. "LUA_CPATH='%s/lua/?.so;;' XDG_CONFIG_HOME= COLUMNS=100 NO_COLOR=1"):format(folder, folder, top, top, top, top)
end

--- Runs a block; its standard output, and why it failed.
local function run(folder, program, block)
  local script, out, err = folder .. "/.script", folder .. "/.out", folder .. "/.err"
  write(script, block.code)
  local _, _, status = os.execute(("%s %s .script </dev/null >%s 2>%s"):format(environment(folder), program, out, err))
  return read(out), status ~= 0 and ("exit status %d\n%s%s"):format(status, read(out), read(err)) or nil
end

local PROGRAMS = { sh = "sh -eu", lua = "lua5.4" }

--- Runs all blocks of a document; `check(place, expected, got)` compares what was printed.
---@param path string
---@param check fun(place: string, expected: string, got: string)
---@param fail fun(message: string)
---@return integer ran
function document_blocks.run(path, check, fail)
  local folder, printed, ran = new_folder(), nil, 0
  for _, block in ipairs(document_blocks.of(read(path))) do
    local place = ("%s:%d"):format(path, block.line)
    if block.mark == "file" then
      assert(os.execute(("mkdir -p '%s/%s'"):format(folder, block.name:match "^(.*)/" or ".")))
      write(folder .. "/" .. block.name, block.code)
    elseif block.mark == "not run" then
      printed = nil
    elseif PROGRAMS[block.language] then
      local out, why = run(folder, PROGRAMS[block.language], block)
      if why then fail(place .. ": " .. why) end
      printed, ran = out, ran + 1
    elseif block.language == "text" and printed then
      if block.mark == "needs" and not vocabularies.find(block.name) then
        print(("skipped: %s: %s is not there"):format(place, block.name))
      else
        check(place, block.code, printed)
      end
      printed = nil
    elseif block.language == "json" then
      local value, message = require("ebb").json.decode(block.code)
      if value == nil then fail(place .. ": " .. message) end
    else
      fail(place .. ": nothing says what this block is")
    end
  end
  os.execute(("rm -rf '%s'"):format(folder))
  return ran
end

--- Writes what was printed into the document, in the place of the block at `line`.
---@param path string
---@param place string     "path:line"
---@param got string
function document_blocks.update(path, place, got)
  local lines, number, wanted, skipping = {}, 0, tonumber(place:match ":(%d+)$"), false
  for line in read(path):gmatch "(.-)\n" do
    number = number + 1
    if number == wanted then
      skipping = true
      lines[#lines + 1] = (got:gsub("\n$", ""))
    end
    if skipping and line == "```" then skipping = false end
    if not skipping then lines[#lines + 1] = line end
  end
  write(path, table.concat(lines, "\n") .. "\n")
end

return document_blocks
