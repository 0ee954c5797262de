--- Salvage: what `ebb session salvage` gets out of a damaged file, and that no file makes it crash or work for long.
--- Random damage is in tests/faults/storage_salvage.lua.

local helper = dofile "tests/lua/helper.lua"
local files = dofile "tests/lua/session_files.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local salvage_of = require "ebb.session.salvage"
local ebb = helper.ebb
local EBB = dofile("tests/lua/command.lua").EBB

local PAGE = 4096

local place

local function remove()
  for _, rest in ipairs { "", ".copy", ".new" } do files.remove(place .. rest) end
end

local function user(content) return { role = "user", content = content } end

local function open(name) return assert(ebb.session(place, name)) end

local function bytes_of(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read "a"
  file:close()
  return bytes
end

local function write(path, bytes)
  local file = assert(io.open(path, "wb"))
  assert(file:write(bytes))
  file:close()
end

--- The standard output and error of `ebb session salvage`, and its exit status.
local function salvage(words)
  local said, out = os.tmpname(), os.tmpname()
  local _, _, status = os.execute(("%s session salvage %s >'%s' 2>'%s'"):format(EBB, words, out, said))
  local result, errors = bytes_of(out), bytes_of(said)
  os.remove(said)
  os.remove(out)
  return result, errors, status
end

describe("salvage", function()
  before_each(function() place = files.new() remove() end)
  after_each(remove)

  it("gives what is left of a damaged file, also what only the log has", function()
    local session = open "a"
    session:append { user "the first", user "the second", user "the third" }
    local before = open "b"
    before:append(user "whole")
    before:close()
    local copy, new = place .. ".copy", place .. ".new"
    for _, rest in ipairs { "", "-wal" } do
      local bytes = bytes_of(place .. rest):gsub("the second", "THE SECOND")
      local file = assert(io.open(copy .. rest, "wb"))
      file:write(rest == "" and ("\0"):rep(100) .. bytes:sub(101) or bytes)
      file:close()
    end
    session:close()
    assert.equal("damaged", select(2, ebb.sessions(copy)).code)
    local store <close> = assert(ebb.sessions(copy, { salvage = true }))
    assert.equal("read_only", select(2, store:rename("b", "c")).code)
    assert(os.execute(("%s session salvage '%s' '%s' --quiet 2>/dev/null"):format(EBB, copy, new)))
    local pipe = assert(io.popen(("%s session salvage '%s' --quiet 2>/dev/null"):format(EBB, copy)))
    local lines = pipe:read "a"
    pipe:close()
    local salvaged <close> = assert(ebb.session(new, "a", { create = false }))
    local whole_one <close> = assert(ebb.session(new, "b", { create = false }))
    local first = assert(salvaged[1]).text
    for _, path in ipairs { copy, new } do files.remove(path) end
    assert.equal("whole", whole_one[1].text)
    assert.equal("the first", first)
    assert.truthy(lines:find('"the third"', 1, true))
    assert.is_nil(lines:find('SECOND', 1, true))
  end)

  it("says what each session has lost", function()
    for _, name in ipairs { "a", "b", "c" } do
      local session = open(name)
      session:append { user("the first of " .. name), user("the second of " .. name) }
      if name == "a" then session:branch("twig"):close() end
      session:close()
    end
    local bytes, copy, new = bytes_of(place), place .. ".copy", place .. ".new"
    bytes = bytes:gsub("the second of a", "THE SECOND of a")
    local file = assert(io.open(copy, "wb"))
    file:write(bytes)
    file:close()
    local out, errors = salvage(("'%s' '%s'"):format(copy, new))
    assert.equal("", out)
    for _, line in ipairs { "session a: 1 message, 1 of 2 lost", "session twig: 1 message, 1 of 2 lost",
      "session b: whole, 2 messages", "session c: whole, 2 messages" } do
      assert.truthy(errors:find(line, 1, true), errors)
    end
    files.remove(new)
    local by_name = {}
    for _, entry in ipairs(ebb.json.decode((salvage(("'%s' '%s' --json"):format(copy, new))))) do
      by_name[entry.session] = entry
    end
    for _, path in ipairs { copy, new } do files.remove(path) end
    assert.same({ atLeast = 1, atMost = 1 }, by_name.a.lost)
    assert.same({ 2, 1, "a" }, { by_name.a.stored, by_name.a.messages, by_name.a.writtenAs })
    assert.same({ true, 2 }, { by_name.b.whole, by_name.b.messages })
  end)

  it("does not write anew a session of which nothing was found", function()
    for _, name in ipairs { "a", "b" } do
      local session = open(name)
      session:append { user(name:rep(9000)) }
      session:close()
    end
    local bytes, copy, new = bytes_of(place), place .. ".copy", place .. ".new"
    local file = assert(io.open(copy, "wb"))
    file:write((bytes:gsub("a" .. ("a"):rep(99), ("x"):rep(100))))
    file:close()
    local _, errors = salvage(("'%s' '%s' --quiet"):format(copy, new))
    local store = assert(ebb.sessions(new))
    local names = store:list()
    store:close()
    for _, path in ipairs { copy, new } do files.remove(path) end
    assert.truthy(errors:find("session a: nothing found, 1 of 1 lost", 1, true), errors)
    assert.is_nil(errors:find("session b", 1, true))
    assert.same({ "b" }, { names[1].name, names[2] and names[2].name })
  end)

  it("gives long messages between others that are cut off", function()
    local session, contents = open "a", {}
    for i = 1, 8 do contents[i] = user((("%d a long text. "):format(i)):rep(600)) end      -- one row each, on 3 pages
    session:append(contents)
    session:close()
    local pages, copy = {}, place .. ".copy"
    for text in bytes_of(place):gmatch(("."):rep(PAGE)) do
      local number = text:byte() == 0 and text:match "^....[^0-9]*(%d) a long text"      -- a page of a chain
      pages[#pages + 1] = number and tonumber(number) % 3 == 1 and ("\0"):rep(PAGE) or text
    end
    local bytes = table.concat(pages)
    write(copy, bytes)
    local out = salvage(("'%s'"):format(copy))
    files.remove(copy)
    for i = 1, 8 do
      assert.equal(i % 3 ~= 1, out:find(('"%d a long text'):format(i), 1, true) ~= nil, "message " .. i)
    end
  end)

  it("reads a file next to a journal, and writes to neither", function()
    local session, copy = open "a", place .. ".copy"
    session:append(user "here")
    session:close()
    write(copy, bytes_of(place))
    write(copy .. "-journal", ("j"):rep(5000))
    local out = salvage(("'%s'"):format(copy))
    local kept, journal = bytes_of(copy), bytes_of(copy .. "-journal")
    os.remove(copy .. "-journal")
    files.remove(copy)
    assert.truthy(out:find('"here"', 1, true), out)
    assert.same({ bytes_of(place), ("j"):rep(5000) }, { kept, journal })
  end)

  it("gives a session once, where a free page has an older row of it", function()
    local function version(text)
      local session = open "a"
      session:append(user(text))
      session:close()
      return bytes_of(place)
    end
    local older, copy = version "one", place .. ".copy"
    local file = assert(io.open(copy, "wb"))
    file:write(version "two", older)
    file:close()
    local out, errors = salvage(("'%s'"):format(copy))
    files.remove(copy)
    assert.equal(1, select(2, out:gsub("\n", "\n")))
    assert.truthy(errors:find("session a: whole, 2 messages", 1, true), errors)
  end)
end)

---- Files that no program of Ebb wrote ----

local function varint(number)
  local bytes = string.char(number & 0x7f)
  number = number >> 7
  while number > 0 do
    bytes = string.char(0x80 | number & 0x7f) .. bytes
    number = number >> 7
  end
  return bytes
end

--- A cell: sizes of payload and columns as they are said, whatever is there. `head`: the serial types, as bytes.
local function cell(size, head, rest)
  return varint(size) .. "\1" .. string.char(#head + 1) .. head .. (rest or "")
end

local function page(bytes) return bytes .. ("\0"):rep(PAGE - #bytes) end

--- The bytes of a payload that SQLite keeps in a leaf's page.
local function local_size(payload)
  local least = (PAGE - 12) * 32 // 255 - 23
  local kept = least + (payload - least) % (PAGE - 4)
  return kept <= PAGE - 35 and kept or least
end

--- The types of a row's columns, and of its body so long that all is as long as it says.
local function row_types(size)
  local body = varint(12 + 2 * (size - 16))
  return "\0\6" .. varint(12 + 2 * (size - 8 - 3 - #body))
end

--- The leaf of a table: its head, the places of `count` cells 32 bytes apart, and these.
local function leaf(row, count)
  local head = ("\13" .. string.pack(">I2I2I2", 0, count, 256)):sub(1, 7) .. "\0"
  for i = 0, count - 1 do head = head .. string.pack(">I2", 256 + 32 * i) end
  return head .. ("\0"):rep(256 - #head) .. row:rep((PAGE - 256) // 32)
end

--- Leaves, and as many pages of chains: each row of a leaf, of which a page has 100, follows all of these.
local function winding_pages(pages)
  local size, first = (pages - 1) * (PAGE - 4) + 540, string.pack(">I4", pages + 2)
  local row
  repeat      -- until the number of its chain's first page is read where it was written
    size = size - 1
    row = cell(size, row_types(size))
    local at = (#varint(size) + 1 + local_size(size)) % 32
  until at == 16
  assert(#row <= 16)
  row = row .. ("\0"):rep(16 - #row) .. first:rep(4)
  local lines = { ("\0"):rep(PAGE), leaf(row, 100):rep(pages) }
  for i = 1, pages do lines[i + 2] = string.pack(">I4", pages + 2 + i % pages) .. ("c"):rep(PAGE - 4) end
  return table.concat(lines)
end

--- Inner pages on 12 levels, each of which leads 301 times to the page after it; the last one is a leaf.
local function winding_levels()
  local pages = { ("\0"):rep(PAGE) }
  for number = 2, 13 do
    local places, cells, child = {}, {}, string.pack(">I4", number + 1)
    for i = 1, 300 do
      places[i] = string.pack(">I2", 1000 + 6 * i)
      cells[i] = child .. string.char(i % 128) .. "\0"
    end
    local head = "\5" .. string.pack(">I2I2I2", 0, 300, 1000) .. "\0" .. child .. table.concat(places)
    pages[number] = page(head .. ("\0"):rep(1006 - #head) .. table.concat(cells))
  end
  pages[14] = leaf(cell(7, "\0\1\1", "\0\0\0") .. ("\0"):rep(23), 1):sub(1, PAGE)
  return table.concat(pages)
end

local HUGE = ("\xff"):rep(9)      -- as a type: a blob of 2^63 - 7 bytes

--- Each shows what a size may do that the file says, and has no session.
local CRAFTED = {
  { "two sizes whose sum wraps to a small one", page(cell(105, "\0" .. HUGE .. ("\6"):rep(11) .. HUGE)) },
  { "two sizes that wrap in a row", page(cell(14, "\0" .. HUGE .. HUGE)) },
  { "a size beyond the page in a payload that fits", page(cell(60, "\0\6" .. varint(12 + 2 * 4000))) },
  { "a payload of 2 GiB", page(cell(0x7fffffff, "\0\6" .. varint(12 + 2 * (0x7fffffff - 20)))) },
  { "a chain into itself", page(cell(8000, "\0\6" .. varint(12 + 2 * 7984)) .. ("\0\0\0\1"):rep(900)) },
  { "a head that ends behind the page", ("\0"):rep(PAGE - 6) .. "\x69\1\63\0\xff\xff" },
  { "inner pages that lead to one leaf over and over", winding_levels() },
  { "a page that is cut off in a head", page "" .. cell(105, "\0" .. HUGE):sub(1, 7) },
}

describe("salvage of a crafted file", function()
  before_each(function() place = files.new() remove() end)
  after_each(remove)

  for _, case in ipairs(CRAFTED) do
    local name, bytes = table.unpack(case)
    it("finds nothing in " .. name, function()
      write(place, bytes)

      local _, said, status = salvage(("'%s'"):format(place))

      assert.equal(6, status, said)
      assert.truthy(said:find("nothing of a session is left", 1, true), said)
      assert.equal(bytes, bytes_of(place))
    end)
  end

  it("ends where the origins of sessions go in a circle", function()
    local infos = { { name = "a", id = 1, origin = 2 }, { name = "b", id = 2, origin = 1 } }
    for _, info in ipairs(infos) do info.stored, info.messages = 3, 3 end
    local problem = { code = "damaged", message = "a branch lacks its origin" }
    local store = { list = function() return infos end, db = {
      messages = function() return "[]", 0, 0 end, rows = function() return 1, 2 end,
      find = function() return nil, problem end,
    } }

    local result = assert(salvage_of.session(store, infos[1]))

    assert.same({ false, problem }, { result.whole, result.problem })
    assert.is_nil(result.rows)
  end)

  it("takes time in proportion to the file, where each row follows all pages #time", function()
    gate.check("salvage", 30, function(pages)
      write(place, winding_pages(pages))
      return gate.seconds(function() ebb.sessions(place, { salvage = true }):close() end)
    end)
  end)
end)
