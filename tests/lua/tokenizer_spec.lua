--- Exact counts through the library: given vectors, round trips,
--- what is refused. Without the vocabularies (no npm when this was built) the
--- exact ones are skipped.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local core = require "ebb.support.core"
local vocabularies = require "ebb.models.vocabularies"

local SHARED = os.getenv "EBB_SHARED"
local ENCODINGS = { "cl100k_base", "o200k_base" }

--- nil, and the test pending, where the vocabulary was not built.
local function tokenizer_of(encoding)
  if vocabularies.find(encoding) then return ebb.tokenizer(encoding) end
  pending(encoding .. " was not built")
end

local function shared(path)
  if SHARED then return helper.read(SHARED .. "/data/" .. path) end
  pending "the given material is not here"
end

local function ids(list) return table.concat(list, ",") end

--- All strings within a value, joined.
local function texts_of(value, out)
  if type(value) == "string" then out[#out + 1] = value end
  if type(value) == "table" then
    for _, inner in pairs(value) do
      texts_of(inner, out)
    end
  end
  return out
end

local function random_text(size)
  local out, bytes, random, char = {}, 0, math.random, utf8.char
  while bytes < size do
    local kind = random(8)
    local point = kind < 5 and random(127) or kind == 5 and random(0x3000) or kind == 6 and random(0x4E00, 0x9FA5)
      or random(0x10FFFF)
    if point < 0xD800 or point > 0xDFFF then
      local character = char(point)
      out[#out + 1] = character
      bytes = bytes + #character
    end
  end
  return table.concat(out)
end

local random_parts

--- 10 MB in parts, made once for all encodings.
local function random_texts()
  if random_parts then return random_parts end
  random_parts = {}
  for i = 1, 40 do
    random_parts[i] = random_text(250000)
  end
  return random_parts
end

--- Everything beneath the given data that is text; nil, and the test pending, without it.
local function shared_files()
  if not SHARED then return pending "the given material is not here" end
  local pipe, files = io.popen(("find '%s/data' -type f -not -name '*.bin' | sort"):format(SHARED)), {}
  for path in pipe:lines() do
    files[#files + 1] = path
  end
  pipe:close()
  return files
end

--- The ids of a text give the text, and are as many as are counted. Bytes are compared, UTF-8 or not.
local function holds(tokenizer, text)
  local encoded = tokenizer:encode(text)
  if tokenizer:decode(encoded) ~= text then error(("the ids of %q give another text"):format(text:sub(1, 200))) end
  assert.equal(#encoded, tokenizer:count(text))
end

--- The ids of each case's text by tests/bench/tokens.c, which also counts it, built without the wider instructions.
local function portable_ids(image, cases)
  local path, texts, lists = os.tmpname(), {}, {}
  for i, case in ipairs(cases) do
    texts[i] = string.pack("=s4", case.text)
  end
  local file = assert(io.open(path, "wb"))
  file:write(table.concat(texts)):close()
  local pipe = assert(io.popen(("build/bench/tokens_portable ids '%s' < %s"):format(image, path)))
  for i = 1, #cases do
    local count = string.unpack("=I4", pipe:read(4))
    lists[i] = { string.unpack(("=I4"):rep(count), count > 0 and pipe:read(4 * count) or "") }
    lists[i][count + 1] = nil   -- where unpack stopped
  end
  assert(pipe:close())
  os.remove(path)
  return lists
end

for _, encoding in ipairs(ENCODINGS) do
  describe(encoding, function()
    for _, name in ipairs { "vectors", "divergent" } do
      it("gives the ids of " .. name .. ".json", function()
        local tokenizer, json = tokenizer_of(encoding), shared("tokens/" .. name .. ".json")
        if not tokenizer or not json then return end

        for _, case in ipairs(ebb.json.decode(json)) do
          assert.equal(ids(case[encoding]), ids(tokenizer:encode(case.text)), case.text)
          assert.equal(#case[encoding], tokenizer:count(case.text))
          assert.equal(case.text, tokenizer:decode(case[encoding]))
        end
      end)
    end

    it("gives the same ids on processors without the wider instructions", function()
      local image, vectors = vocabularies.find(encoding), shared "tokens/vectors.json"
      if not image then return pending(encoding .. " was not built") end
      if not vectors then return end

      local cases = ebb.json.decode(vectors)
      table.move(ebb.json.decode(shared "tokens/divergent.json"), 1, 1000, #cases + 1, cases)
      assert.is_true(#cases > 200)
      for i, found in ipairs(portable_ids(image, cases)) do
        assert.equal(ids(cases[i][encoding]), ids(found), cases[i].text)
      end
    end)

    it("decodes what it encodes: all given data", function()
      local tokenizer, files = tokenizer_of(encoding), shared_files()
      if not tokenizer or not files then return end

      local bytes = 0
      for _, path in ipairs(files) do
        local text = helper.read(path)
        local good, value = pcall(ebb.json.decode, text)
        holds(tokenizer, text)
        for _, inner in ipairs(texts_of(good and value, {})) do
          holds(tokenizer, inner)
        end
        bytes = bytes + #text
      end
      assert.is_true(bytes > 1000000)
    end)

    it("decodes what it encodes: 10 MB of random text", function()
      local tokenizer = tokenizer_of(encoding)
      if not tokenizer then return end

      for size = 0, 12000, 400 do
        holds(tokenizer, random_text(size))
      end
      for _, text in ipairs(random_texts()) do
        holds(tokenizer, text)
      end
    end)

    it("takes the spelling of a special token for plain text", function()
      local tokenizer = tokenizer_of(encoding)
      if not tokenizer then return end

      assert.is_true(tokenizer:count "<|endoftext|>" > 1)
    end)

    it("stops counting above a limit", function()
      local tokenizer = tokenizer_of(encoding)
      if not tokenizer then return end

      local text = ("a word "):rep(5000)
      assert.equal(tokenizer:count(text), tokenizer:count_up_to(text, 1000000))
      local some = tokenizer:count_up_to(text, 100)
      assert.is_true(some > 100 and some < 1000)
    end)

    it("counts a megabyte of one letter, of spaces and of mixed ones at once", function()
      local tokenizer = tokenizer_of(encoding)
      if not tokenizer then return end

      assert.equal(125000, tokenizer:count(("a"):rep(1000000)))
      assert.is_true(tokenizer:count((" "):rep(1000000)) < 20000)
      assert.is_true(tokenizer:count((" \t"):rep(500000)) > 100000)
    end)
  end)
end

describe("a tokenizer", function()
  it("refuses unknown encodings and says which there are", function()
    local good, problem = pcall(ebb.tokenizer, "o200k")

    assert.is_false(good)
    assert.equal("unknown_name", problem.code)
    assert.is_string(problem.hint)
  end)

  it("refuses wrong texts, ids and limits", function()
    local tokenizer = tokenizer_of "cl100k_base"
    if not tokenizer then return end
    local cases = {
      { "argument", tokenizer.count, tokenizer, 5 },
      { "argument", tokenizer.encode, tokenizer, {} },
      { "argument", tokenizer.decode, tokenizer, "x" },
      { "argument", tokenizer.decode, tokenizer, { 1, "2" } },
      { "out_of_range", tokenizer.decode, tokenizer, { 1, -1 } },
      { "out_of_range", tokenizer.decode, tokenizer, { 100256 } },
      { "out_of_range", tokenizer.count_up_to, tokenizer, "x", -1 },
      { "argument", tokenizer.count },
    }
    for _, case in ipairs(cases) do
      local good, problem = pcall(table.unpack(case, 2))
      assert.is_false(good)
      assert.equal(case[1], problem.code)
    end
    local _, problem = pcall(tokenizer.decode, tokenizer, { 1, 2, 999999 })
    assert.equal("decode: ids[3]: cl100k_base has no token 999999", problem.message)
  end)

  it("says its name and size", function()
    local tokenizer = tokenizer_of "o200k_base"
    if not tokenizer then return end

    assert.equal("o200k_base", tokenizer.name)
    assert.equal(199998, tokenizer.size)
  end)
end)

---- what vocabularies are made from ----

--- GPT-2's byte-level alphabet.
local function letter(byte)
  local printable = byte >= 33 and byte <= 126 or byte >= 0xA1 and byte <= 0xAC or byte >= 0xAE
  if printable then return utf8.char(byte) end
  return utf8.char(256 + (byte <= 32 and byte or byte <= 0xA0 and byte - 94 or 67))
end

local CL100K = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
  .. "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

local function split(regex)
  return { type = "Split", pattern = { Regex = regex }, behavior = "Isolated", invert = false }
end

local function cut_by(...)
  local list = { ... }
  list[#list + 1] = { type = "ByteLevel", add_prefix_space = false, use_regex = false }
  return { type = "Sequence", pretokenizers = core.json.array(list) }
end

--- A small tokenizer.json; `change` edits it before it is written.
local function tokenizer_json(change)
  local vocab = {}
  for byte = 0, 255 do
    vocab[letter(byte)] = byte
  end
  vocab["he"], vocab["llo"], vocab["ll"], vocab["hello"], vocab["Ġhello"] = 300, 257, 256, 259, 260
  local file = {
    added_tokens = core.json.array { { id = 400, content = "<|end|>", special = true } },
    normalizer = ebb.null,
    pre_tokenizer = cut_by(split(CL100K)),
    model = { type = "BPE", vocab = vocab, merges = core.json.array { "h e", "l l", "ll o", "he llo", "Ġ hello" } },
  }
  if change then change(file) end
  return core.json.encode(file)
end

local function build(text, options)
  options = options or {}
  local asked = { file = "x.json", name = options.name or "x", json = true, pattern = options.pattern,
    composed = options.nfc }
  return core.vocab.build(text, asked)
end

describe("a tokenizer.json", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function opened(text, options)
    assert(core.write_file(path, assert(build(text, options))))
    assert.is_true(core.vocab.verify(path))
    return assert(core.tokenizer(path))
  end

  it("is read: ids, merges in their order, added tokens only to decode", function()
    local tokenizer = opened(tokenizer_json())

    assert.equal("259,260,33", ids(tokenizer:encode "hello hello!"))
    assert.equal("300,108", ids(tokenizer:encode "hel"))
    assert.equal(7, tokenizer:count "<|end|>")
    assert.equal("hello<|end|>", tokenizer:decode { 259, 400 })
    assert.equal("cl100k", core.vocab.describe(path).pattern)
  end)

  it("may list merges as pairs, and cut by expressions one after the other", function()
    local tokenizer = opened(tokenizer_json(function(file)
      file.model.merges = core.json.array {}
      for _, pair in ipairs { { "h", "e" }, { "l", "l" }, { "ll", "o" }, { "he", "llo" } } do
        file.model.merges[#file.model.merges + 1] = core.json.array(pair)
      end
      file.pre_tokenizer = cut_by(split "l", split "[a-z]+")
    end))

    assert.equal("300,108,108,111", ids(tokenizer:encode "hello"))
    assert.equal("regex", core.vocab.describe(path).pattern)
  end)

  it("takes Unicode's white space for spaces, to which U+180E does not belong", function()
    local tokenizer = opened(tokenizer_json(function(file)
      file.pre_tokenizer = cut_by(split "\\s+|[^\\sx]+|x\\S")
      file.model.merges[#file.model.merges + 1] = "x á"            -- x and the first byte of U+180E
      file.model.vocab["xá"] = 500
    end))

    assert.equal("500,160,142", ids(tokenizer:encode "x\u{180E}"))
  end)

  it("has whole pieces that no merging makes only where ignore_merges says so", function()
    local function lone(file) file.model.vocab["xyz"] = 500 end

    assert.equal("120,121,122", ids(opened(tokenizer_json(lone)):encode "xyz"))
    assert.equal("500", ids(opened(tokenizer_json(function(file)
      lone(file)
      file.model.ignore_merges = true
    end)):encode "xyz"))
  end)

  it("has added tokens that are not special wherever they are, white space too", function()
    local tokenizer = opened(tokenizer_json(function(file)
      file.added_tokens = core.json.array {
        { id = 400, content = "<|end|>", special = true }, { id = 401, content = "<think>", special = false },
        { id = 402, content = "\n\n", special = false },
      }
    end))

    assert.equal("259,401,259,402,60", ids(tokenizer:encode "hello<think>hello\n\n<"))
    assert.equal(5, tokenizer:count "hello<think>hello\n\n<")
    assert.equal("hello<think>hello\n\n<", tokenizer:decode(tokenizer:encode "hello<think>hello\n\n<"))
    assert.equal(7, tokenizer:count "<|end|>")
  end)

  it("normalizes to NFC where the file says so, unless texts are said to be in it", function()
    local function composed(file) file.normalizer = { type = "NFC" } end

    assert.equal(2, opened(tokenizer_json(composed)):count "e\u{301}")
    assert.equal(3, opened(tokenizer_json(composed), { nfc = true }):count "e\u{301}")
  end)

  it("merges characters and takes bytes for others, with byte_fallback", function()
    local tokenizer = opened(tokenizer_json(function(file)
      local vocab = { ["▁"] = 0, a = 1, ["é"] = 2, ["▁a"] = 3, ["▁▁"] = 4 }
      for byte = 0, 255 do vocab[("<0x%02X>"):format(byte)] = 1000 + byte end
      file.normalizer = { type = "Replace", pattern = { String = " " }, content = "▁" }
      file.pre_tokenizer = ebb.null
      file.model = { type = "BPE", byte_fallback = true, vocab = vocab,
        merges = core.json.array { "▁ ▁", "▁ a" } }
    end))

    assert.equal("1,3,2,1226,1150,1178,4,1", ids(tokenizer:encode "a aé▲  a"))
    assert.equal("a aé▲  a", tokenizer:decode { 1, 3, 2, 1226, 1150, 1178, 4, 1 })
    assert.equal("borders", core.vocab.describe(path).pattern)
  end)

  local refused = {
    { "another model", "not WordPiece", function(file) file.model.type = "WordPiece" end },
    { "a normalizer", "not Lowercase", function(file) file.normalizer = { type = "Lowercase" } end },
    { "NFKC", "not NFKC", function(file) file.normalizer = { type = "NFKC" } end },
    { "Unigram", "not Unigram", function(file)
      file.model = { type = "Unigram", vocab = core.json.array {} }
      file.normalizer = { type = "Precompiled" }
    end },
    { "another pre-tokenizer", "not Metaspace", function(file) file.pre_tokenizer = { type = "Metaspace" } end },
    { "byte fallback to missing bytes", "a token like <0x0A> for each byte",
      function(file) file.model.byte_fallback = true end },
    { "a prefix space", "no add_prefix_space", function(file)
      file.pre_tokenizer = { type = "ByteLevel", add_prefix_space = true }
    end },
    { "a merge of a piece that is not a token", "merge 1: expected a merge that makes a token", function(file)
      file.model.merges = core.json.array { "q u" }
    end },
    { "a missing byte", "256 single bytes", function(file) file.model.vocab["!"] = nil end },
    { "other alphabets", "byte-level alphabet", function(file) file.model.vocab["▁the"] = 700 end },
    { "an invalid expression", "expression 1, byte 4",
      function(file) file.pre_tokenizer = cut_by(split "a(b") end },
    { "an id twice", "an id that no other token has", function(file) file.model.vocab["ll"] = 257 end },
    { "added tokens that strip", "not lstrip", function(file)
      file.added_tokens = core.json.array { { id = 401, content = "x", special = false, lstrip = true } }
    end },
  }
  for _, case in ipairs(refused) do
    it("is refused with " .. case[1], function()
      local image, message = helper.outcome(build(tokenizer_json(case[3])))

      assert.is_nil(image)
      assert.truthy(message:find(case[2], 1, true), message)
      assert.truthy(message:find("x.json", 1, true))
    end)
  end

  it("may ask for NFC where texts are taken to be in it", function()
    assert.is_string(build(tokenizer_json(function(file) file.normalizer = { type = "NFC" } end), { nfc = true }))
  end)
end)
