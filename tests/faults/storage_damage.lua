--- Damaged databases: with one changed bit the database is refused, or all conversations are as they were.
--
-- Rows, sessions and operations have checksums, and a session knows what its rows add up to, so that a row whose key
-- changed is missed. A file that is cut off is refused.
--
-- SAMPLE=n changes one byte in 4 * n, which SEED decides.

local kit = require "storage_kit"

local disk, expect = kit.disk, kit.expect

local SAMPLE = 4 * (math.tointeger(tonumber(os.getenv "SAMPLE")) or 1)

io.stdout:setvbuf "line"

--- All conversations, by the names of their sessions.
local function conversations()
  local store <close>, problem = kit.ebb.sessions(kit.place)
  if not store then return nil, problem end
  local infos, why = store:list()
  if not infos then return nil, why end
  local all = {}
  for _, info in ipairs(infos) do
    local session, cause = kit.session_module.of(store, info.name)
    if not session then return nil, cause end
    all[info.name] = kit.whole(session.chat)
  end
  return all
end

local function same(a, b)
  for name, text in pairs(a) do if b[name] ~= text then return false end end
  for name in pairs(b) do if not a[name] then return false end end
  return true
end

local CODES = { damaged = true, unknown_version = true, io = true, absent = true, read_only = true, syntax = true }

local function database()
  disk.format()
  local session = assert(kit.open "main")
  for _, edit in ipairs(kit.EDITS) do assert(kit.edit(session, edit)) end
  assert(session:branch "try"):close()
  session:append(kit.user "end")
  session:close()
  return disk.bytes(kit.place)
end

local function flips(bytes, right)
  local refused, equal, silent, first = 0, 0, 0, 1 + kit.seed % SAMPLE
  for at = first, #bytes, SAMPLE do
    local bit = 1 << (kit.seed + at) % 8
    disk.put(kit.place, bytes:sub(1, at - 1) .. string.char(bytes:byte(at) ~ bit) .. bytes:sub(at + 1))
    local all, problem = conversations()
    if all then
      if same(right, all) then equal = equal + 1 else silent = silent + 1 end
    else
      refused = refused + 1
      expect(type(problem) == "table" and CODES[problem.code], "byte %d, bit %d: %s %s", at - 1, bit,
        tostring(problem.code), tostring(problem.message))
    end
  end
  local tried = refused + equal + silent
  print(("swept: %d databases of %d bytes with one changed bit: %d refused, %d equal, %d others"):format(tried,
    #bytes, refused, equal, silent))
  expect(silent == 0, "%d of %d are silently others", silent, tried)
end

local PAGE = 4096

--- A page that has lost rows by a changed number of its cells: every bit of the number, of every page.
local function lost_cells(bytes, right)
  local silent, tried = {}, 0
  for page = 0, #bytes - 1, PAGE do
    local header = page == 0 and 100 or page
    for bit = 0, 15 do
      local at = header + (bit < 8 and 5 or 4)
      disk.put(kit.place, bytes:sub(1, at - 1) .. string.char(bytes:byte(at) ~ 1 << bit % 8) .. bytes:sub(at + 1))
      local all = conversations()
      if all and not same(right, all) then silent[#silent + 1] = ("byte %d, bit %d"):format(at - 1, bit % 8) end
      tried = tried + 1
    end
  end
  print(("swept: %d changed numbers of cells"):format(tried))
  expect(#silent == 0, "silently others: %s", table.concat(silent, "; "))
end

--- No file that is cut off opens as a whole one.
local function cuts(bytes)
  local tried = 0
  for size = 100 + kit.seed % 97, #bytes - 1, 97 * SAMPLE // 4 do
    disk.put(kit.place, bytes:sub(1, size))
    local all, problem = conversations()
    expect(not all and CODES[problem.code], "%d bytes of %d: %s", size, #bytes, all and "it opens" or problem.code)
    tried = tried + 1
  end
  print(("swept: %d databases that are cut off"):format(tried))
end

disk.use(true)
print("SEED=" .. kit.seed)
local bytes = database()
local right = assert(conversations())
flips(bytes, right)
lost_cells(bytes, right)
cuts(bytes)
kit.finish()
