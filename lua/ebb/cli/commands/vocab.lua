--- ebb vocab: lists, imports, fetches and verifies the vocabularies of exact counts.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local models = require "ebb.models"
local places = require "ebb.cli.io.places"
local terminal = require "ebb.cli.view.terminal"
local vocab_fetch = require "ebb.cli.io.vocab_fetch"
local vocabularies = require "ebb.models.vocabularies"

local command = {}

command.BYTES_MAX = 256 * 1024 * 1024   -- bytes of a file that is imported; the largest that are published have 20 MB

--- OpenAI's own files, by their SHA-256: these need neither a name nor a pattern.
local KNOWN = {
  ["223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"] = { name = "cl100k_base", pattern = "cl100k" },
  ["446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"] = { name = "o200k_base", pattern = "o200k" },
  ["306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"] = { name = "r50k_base", pattern = "gpt2" },
  ["94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"] = { name = "p50k_base", pattern = "gpt2" },
}

function command.declare(parser)
  parser:argument("action", "ls (default), import, fetch or verify."):args("?")
    :choices { "ls", "import", "fetch", "verify" }
  parser:argument("what", ("import: a .tiktoken or tokenizer.json file. fetch: %s. verify: a name (default: all).")
    :format(table.concat(vocab_fetch.names(), ", "))):args("?")
  parser:option("--pattern", "import: how texts are split before merging: cl100k, o200k, gpt2 or a regular expression.")
    :argname("<pattern>")
  parser:option("--name", "import, fetch: the name of the encoding (default: the file's)."):argname("<name>")
  parser:flag("--nfc", "import: assume texts in Unicode form NFC, to which a file may otherwise bring them.")
  places.writes(parser:option("-o", "import, fetch: the file for the image, not the user's folder. ls: the file for "
    .. "the list."):argname("<file>"):hidden_name("--output"):target("output"))
end

---- ls ----

--- OpenAI's file of which an image says that it was made.
local function claim_of(description)
  local entry = KNOWN[description.source]
  return entry and entry.pattern == description.pattern and entry or nil
end

--- Anyone can write what an image says of itself: OpenAI's are those that have OpenAI's tokens.
local function origin_of(image, description, identity)
  local claim = claim_of(description)
  if not claim then return "imported" end
  local is_true = vocabularies.is_made_of(image.path, identity, description.source)
  return (is_true and "OpenAI's " or "not OpenAI's ") .. claim.name
end

local function row_of(image)
  local description, identity = vocabularies.describe(image.path)
  if not description then
    local problem = identity
    return { image.name, "", "", "", problem.code == "damaged" and "damaged" or "unreadable", "", problem.message }
  end
  local size = ("%.1f MB"):format(description.bytes / 1e6)
  return { image.name, tostring(description.tokens), description.pattern, size,
           origin_of(image, description, identity), description.source:sub(1, 12), image.path }
end

local COLUMNS = {
  { title = "encoding" }, { title = "tokens", right = true }, { title = "pattern", rank = 3 },
  { title = "size", right = true, rank = 1 }, { title = "source", rank = 2 }, { title = "SHA-256", rank = 4 },
  { title = "where", wrap = true },
}

local function list(args)
  if args.what then failure.usage "ls takes no name" end
  local rows = {}
  for i, image in ipairs(vocabularies.list()) do
    rows[i] = row_of(image)
  end
  local none = "No vocabulary is installed: counts are estimates. `ebb vocab import FILE` adds one."
  local page = terminal.results(args.output)
  terminal.result(#rows == 0 and terminal.fill(page, none) or grid.render(COLUMNS, rows, page), args.output)
end

---- import ----

--- "path/llama3.tiktoken" -> "llama3"; a tokenizer.json is called after its folder.
local function name_of(path)
  local folder, file = path:match "^(.-)/?([^/]*)$"
  local stem = file:gsub("%.[^.]*$", "")
  if stem == "tokenizer" and folder ~= "" then stem = folder:match "[^/]*$" end
  return stem
end

local function target_of(args, name)
  if args.output then return args.output end
  local folder = vocabularies.user_folder()
  if not folder then failure.raise(failure.IO, "no home folder to import into",
    "give -o or set XDG_DATA_HOME") end
  failure.check(core.make_folder(folder))
  return folder .. "/" .. vocabularies.file_name(name)
end

local function hint_for(message)
  if message:find "expression"
    and message:find "byte" then return "--pattern takes cl100k, o200k, gpt2 or an expression" end
end

--- Builds an image and writes it where ebb finds it.
local function build(args, content, source)
  if models.is_estimator(source.name) then
    failure.usage(("'%s' is the name of an estimator"):format(source.name), "give --name")
  end
  local image, problem = failure.typed(core.vocab.build, content, source)
  if not image then failure.raise(failure.REFUSED, problem.message, hint_for(problem.message)) end
  local target = target_of(args, source.name)
  failure.check(core.write_file(target, image))
  terminal.say(("%s: %s is ready, %.1f MB"):format(target, source.name, #image / 1e6))
end

--- Imports a file of vocabulary.
local function import(args)
  if not args.what then failure.usage "import needs a file" end
  local content = failure.check(core.read_file(args.what, command.BYTES_MAX))
  local json = content:find "^%s*{" ~= nil
  local entry = KNOWN[core.sha256(content)] or {}
  local name = args.name or entry.name or name_of(args.what)
  local pattern = args.pattern or entry.pattern
  if not json and not pattern then
    failure.usage("a .tiktoken file does not say how texts are split",
      "give --pattern cl100k, o200k, gpt2 or an expression")
  end
  build(args, content, { file = args.what, name = name, pattern = pattern, json = json, composed = args.nfc or false })
end

---- fetch ----

local function fetch(args)
  if not args.what then failure.usage("fetch needs a name", "there are " .. table.concat(vocab_fetch.names(), ", ")) end
  local content, file = vocab_fetch.content(args.what)
  build(args, content, { file = file, name = args.name or args.what, json = true })
end

---- verify ----

local function images_of(name)
  if not name then return vocabularies.list() end
  local path = name:find "/" and name or vocabularies.find(name)
  if not path then failure.usage(("unknown vocabulary '%s'"):format(name), "`ebb vocab ls` lists them") end
  return { { name = name, path = path } }
end

--- nil and a message for an image that is damaged, or was not made of what it says.
local function verify_image(image)
  local digest, problem = vocabularies.verify(image.path)
  if not digest then return nil, problem.message end
  local description, fault = vocabularies.describe(image.path)
  if not description then return nil, fault.message end
  local claim = claim_of(description)
  if claim and digest ~= description.source then
    return nil, ("%s: it says that it was made of OpenAI's %s, and has other tokens"):format(image.path, claim.name)
  end
  return true
end

local function verify(args)
  local wrong
  for _, image in ipairs(images_of(args.what)) do
    local good, message = verify_image(image)
    terminal.say(good and ("%s: good"):format(image.path) or message)
    wrong = wrong or not good
  end
  return wrong and failure.REFUSED or 0
end

local ACTIONS = { ls = list, import = import, fetch = fetch, verify = verify }

function command.run(args)
  args.action = args.action or "ls"
  if args.action ~= "import" and (args.pattern or args.nfc) then failure.usage("--pattern and --nfc go with import") end
  if args.name and args.action ~= "import" and args.action ~= "fetch" then
    failure.usage("--name goes with import and fetch")
  end
  if args.action == "verify" and args.output then failure.usage("-o does not go with verify") end
  return ACTIONS[args.action](args)
end

return command
