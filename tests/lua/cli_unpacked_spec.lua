--- Input that is compressed with gzip or zstd.

local command = dofile "tests/lua/command.lua"

local path_of = command.path_of

--- A frame of zstd whose blocks are plain, for texts below 256 bytes.
local function zstd(text)
  return "\x28\xB5\x2F\xFD\x20" .. string.pack("<I1I3", #text, #text << 3 | 1) .. text
end

--- Writes a file that gzip compressed.
local function gzip(name, text)
  local pipe = assert(io.popen(("gzip -c > %s"):format(path_of(name)), "w"))
  pipe:write(text)
  assert(pipe:close())
  return command.read(path_of(name))
end

describe("compressed input", function()
  before_each(function()
    command.make_folder()
    gzip("small.json.gz", command.SMALL)
    command.file("small.json.zst", zstd(command.SMALL))
  end)
  after_each(command.remove_folder)

  it("is read as the same file uncompressed, by name and from standard input", function()
    local plain = command.does("trim --budget 1000 " .. path_of "small.json")
    for _, name in ipairs { "small.json.gz", "small.json.zst" } do
      assert.equal(plain, (command.does("trim --budget 1000 " .. path_of(name))))
      assert.equal(plain, (command.does("trim --budget 1000", path_of(name))))
    end
    assert.equal((command.does("count", path_of "small.json")), (command.does("count", path_of "small.json.gz")))
  end)

  it("may have several members, and any length", function()
    local lines = {}
    for i = 1, 20000 do lines[i] = ('{"role":"user","content":"line %d"}\n'):format(i) end
    local first = gzip("a.gz", table.concat(lines, "", 1, 12345))
    local second = gzip("b.gz", table.concat(lines, "", 12346))
    command.file("all.jsonl.gz", first .. second)
    local out = command.does("run " .. command.file("none.lua", "return { { operation = 'truncate', "
      .. "truncate = { keepLast = 20000 } } }") .. " " .. path_of "all.jsonl.gz")
    assert.equal(table.concat(lines), out)
    command.file("two.json.zst", zstd(command.SMALL:sub(1, 60)) .. zstd(command.SMALL:sub(61)))
    assert.equal((command.does("trim --budget 1000 " .. path_of "small.json")),
      (command.does("trim --budget 1000 " .. path_of "two.json.zst")))
  end)

  it("has a place where it is wrong inside", function()
    gzip("broken.json.gz", '[{"role":"user",\n"content" "Hello"}]')
    command.contains("broken.json.gz:2:11: ", command.fails(command.REFUSED, "count " .. path_of "broken.json.gz"))
  end)

  it("has the hints of the same file uncompressed", function()
    gzip("log.jsonl.gz", '{"role":"user","content":"a"}\n{"role":"user","content":"b}\n{"role":"user","content":"c"}\n')
    command.contains("hint: --lenient reads 2 messages, and skips 1",
      command.fails(command.REFUSED, "count " .. path_of "log.jsonl.gz"))
    gzip("role.json.gz", '[{"role":"human","content":"a"}]')
    command.contains("hint: --role-map", command.fails(command.REFUSED, "count " .. path_of "role.json.gz"))
    gzip("other.json.gz", '[{"speaker":"ann"}]')
    command.contains("has the members speaker", command.fails(command.REFUSED, "count " .. path_of "other.json.gz"))
  end)

  it("is refused where it is cut, damaged or too long", function()
    local whole = command.read(path_of "small.json.gz")
    local cases = {
      { "cut.gz", whole:sub(1, #whole // 2), "compressed with gzip: it is cut" },
      { "head.gz", whole:sub(1, 3), "compressed with gzip: it is cut" },
      { "sum.gz", whole:sub(1, -8) .. "\0\0\0\0" .. whole:sub(-3), "compressed with gzip: it is damaged" },
      { "cut.zst", zstd(command.SMALL):sub(1, 50), "compressed with zstd: it is cut" },
      { "bad.zst", "\x28\xB5\x2F\xFD" .. ("\xFF"):rep(20), "compressed with zstd: " },
    }
    for _, case in ipairs(cases) do
      command.contains(case[3], command.fails(command.REFUSED, "count " .. command.file(case[1], case[2])))
    end
    gzip("bomb.gz", (" "):rep(3 << 20) .. command.SMALL)
    local err = command.fails(command.REFUSED, "count --max-file 1M " .. path_of "bomb.gz")
    command.contains("it is too long when it is unpacked\nhint: --max-file raises the cap", err)
  end)

  it("is refused above the cap as what it is", function()
    for form, name in pairs { gzip = "small.json.gz", zstd = "small.json.zst" } do
      local why = "%s: compressed with %s: it is larger than 20 bytes\nhint: --max-file raises the cap\n"
      command.contains(why:format(name, form), command.fails(command.REFUSED, "count --max-file 20 " .. path_of(name)))
    end
    local chat = command.file("chat.jsonl", '{"user_name":"You","character_name":"Ann","chat_metadata":{}}\n'
      .. '{"name":"Ann","is_user":false,"mes":"Hello"}\n')
    command.contains("above which no file of another program is looked for",
      command.fails(command.REFUSED, "count --max-file 20 " .. chat))
  end)

  it("is not written back, and keeps its name in ebb each", function()
    local before = command.read(path_of "small.json.gz")
    command.contains("is a file that is compressed with gzip, and is not written back",
      command.fails(command.REFUSED, "trim --budget 1000 -i " .. path_of "small.json.gz"))
    assert.equal(before, command.read(path_of "small.json.gz"))
    command.does(("each %s --do 'trim --budget 1000' --out %s -q"):format(path_of "small.json.gz", path_of "out"))
    assert.truthy(command.read(path_of "out/small.json"):find "^%[")
  end)

  it("may be a file of another program", function()
    gzip("task.json.gz", '[{"role":"user","content":"old","ts":1,"condenseParent":"c"},'
      .. '{"role":"user","content":"new","ts":2}]')
    command.contains("Roo", select(2, command.does("inspect --from roo " .. path_of "task.json.gz")))
  end)
end)

--- A zip archive of one file, which gzip packed, or of its text as it is stored.
local function archive(name, packed, comment, stored)
  local data, method = stored or packed:sub(11, -9), stored and 0 or 8
  local crc, size = ("<I4I4"):unpack(packed, #packed - 7)
  local head = ("<I2I2I2I2I2I4I4I4I2I2"):pack(20, 0, method, 0, 0, crc, #data, size, #name, 0)
  local entry = "PK\1\2" .. ("<I2"):pack(20) .. head .. ("<I2I2I2I4I4"):pack(0, 0, 0, 0, 0) .. name
  local body = "PK\3\4" .. head .. name .. data
  return body .. entry .. "PK\5\6" .. ("<I2I2I2I2I4I4s2"):pack(0, 0, 1, 1, #entry, #body, comment)
end

describe("a CHARX", function()
  local CARD = '{"spec":"chara_card_v3","spec_version":"3.0","data":{"name":"Ann","description":"An innkeeper",'
    .. '"first_mes":"Welcome!"}}' .. (" "):rep(70000)
  local packed
  before_each(function()
    command.make_folder()
    packed = gzip("card.gz", CARD)
  end)
  after_each(command.remove_folder)

  local function import(bytes)
    return command.ebb("import --json --dry-run " .. command.file("ann.charx", bytes))
  end

  it("is imported as the card in it, packed or stored", function()
    for _, bytes in ipairs {
      archive("card.json", packed, ""), archive("card.json", packed, "a comment PK\5\6"),
      archive("card.json", packed, "", CARD),
    } do
      local run = import(bytes)
      assert.equal(0, run.status, run.err)
      command.contains('"name": "Ann"', run.out)
    end
    command.contains("read as character card: 1 message", select(2, command.does("count " .. path_of "ann.charx")))
  end)

  it("is refused where it is damaged or too long, and named where it has no card", function()
    local whole = archive("card.json", packed, "")
    local wrong = whole:sub(1, 44) .. string.char(whole:byte(45) ~ 0xFF) .. whole:sub(46)
    for _, case in ipairs {
      { wrong, "compressed with zip: it is damaged" },
      { archive("chat.json", packed, ""), "is a zip archive" },
    } do
      local run = import(case[1])
      assert.equal(command.REFUSED, run.status)
      command.contains(case[2], run.err)
    end
    for size = 4, #whole - 1, 7 do
      assert.equal(command.REFUSED, import(whole:sub(1, size)).status)
    end
    command.file("ann.charx", whole)
    command.contains("--max-file raises the cap", command.fails(command.REFUSED, "import --max-file 60k "
      .. path_of "ann.charx"))
  end)
end)
