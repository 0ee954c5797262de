--- An image of a vocabulary that is damaged anywhere is refused, or counts as before.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local vocabularies = require "ebb.models.vocabularies"

local TEXT = "abcabc  abc 中国 aaaa bcabcbc e\u{301} \u{2581} aaaaaaaaaaaa\nabcabcbcababcabcbcababcabcabcbcab 1234 don't"

--- Damages `places` bytes of a file, evenly spread, one at a time; the numbers of those refused and of those that
--- count as before. Each damage is undone.
local function damage_each(path, places)
  local file = assert(io.open(path, "r+b"))
  local size, refused, same = file:seek "end", 0, 0
  local count = core.tokenizer(path, ""):count(TEXT)
  for i = 0, places - 1 do
    local at = i * size // places
    file:seek("set", at)
    local byte = file:read(1):byte()
    local function put(value)
      file:seek("set", at)
      file:write(string.char(value))
      file:flush()
    end
    put(byte ~ (1 << i % 8))
    local tokenizer, problem = core.tokenizer(path, "")
    if not tokenizer then
      assert.equal("damaged", problem.code)
      refused = refused + 1
    elseif tokenizer:count(TEXT) == count then
      same = same + 1
    end
    put(byte)
  end
  file:close()
  assert.equal(count, core.tokenizer(path, ""):count(TEXT))
  return refused, same
end

describe("a damaged vocabulary", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is refused or counts as before, at each of 2,000 places", function()
    command.file("small.tiktoken", helper.tiktoken())
    local image = command.path_of "small.vocab"
    command.does(("vocab import %s --pattern gpt2 -o %s"):format(command.path_of "small.tiktoken", image))
    local refused, same = damage_each(image, 2000)
    assert.equal(2000, refused + same)
    assert.truthy(refused >= 1990, refused)
  end)

  it("is refused at each of 40 places of a published one", function()
    local path = vocabularies.find "cl100k_base"
    if not path then return pending "no vocabularies are installed" end
    local copy = command.path_of "copy.vocab"
    assert(os.execute(("cp %s %s"):format(path, copy)))
    assert.equal(40, (damage_each(copy, 40)))
  end)
end)
