--- ebb vocab, as its users meet it.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local fails, contains, path_of, file = command.fails, command.contains, command.path_of, command.file

describe("ebb vocab", function()
  local ebb = command.EBB

  before_each(function()
    command.make_folder()
    command.EBB = ("XDG_DATA_HOME=%s EBB_VOCAB_PATH= %s"):format(path_of "home", ebb)
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
    contains("gpt2", (command.does "vocab ls"))
    contains("small.vocab: good", select(2, command.does "vocab verify small"))
    assert.equal("4\n", (command.does("run " .. path_of "use.lua")))
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

  it("looks into EBB_VOCAB_PATH first", function()
    import("-o " .. path_of "other.vocab")
    command.EBB = ("XDG_DATA_HOME=%s EBB_VOCAB_PATH=%s %s"):format(path_of "home", command.folder, ebb)

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

  it("refuses options that do not go together, and names that are none", function()
    fails(command.USAGE, "vocab ls --pattern gpt2")
    fails(command.USAGE, "vocab ls name")
    fails(command.USAGE, "vocab import")
    fails(command.USAGE, "vocab verify nobody")
    fails(command.USAGE, ("vocab import %s --pattern gpt2 --name a/b"):format(path_of "small.tiktoken"))
    fails(command.IO, "vocab import no/such/file --pattern gpt2")
  end)
end)
