--- Runs each input of fuzz_agents.c: an agent file, for a pipeline that runs on a
--- small conversation.
--
-- Whatever the file is, the pipeline is made and its run ends; what is refused is an error
-- object that is not an internal one; a body that comes out can be read.

require "lpeg"   -- without it every input would be refused

local ebb = require "ebb"
local core = require "ebb.support.core"
local log = require "ebb.support.log"

log.to(function() end)

local PATH = "build/fuzz/agents.input"

local MESSAGES = {
  { role = "system", content = "Be brief." },
  { role = "user", content = "Where is {{user}}?" },
  { role = "assistant", content = ebb.null,
    tool_calls = { { id = "x", type = "function", ["function"] = { name = "look", arguments = "{}" } } } },
  { role = "tool", content = "There.", tool_call_id = "x" },
  { role = "user", content = { { type = "text", text = "Thanks." } } },
}

--- The vocabularies' counts would take most of the time.
local function counter() return 1 end

local function check_error(problem, what)
  assert(core.is_error(problem), what .. ": " .. tostring(problem))
  assert(not problem.message:find("traceback", 1, true), problem.message)
end

--- Raised by ebb.pipeline for what its caller wrote, which here is the file.
local function make()
  local options = { agent = PATH, now = 0, seed = 1, counter = counter,
    limits = { fuel = 2000000, deadline = 2000 } }
  local ok, pipeline, problem = pcall(ebb.pipeline, options)
  if not ok then return nil, pipeline end
  return pipeline, problem
end

--- One input.
return function(text)
  local file = assert(io.open(PATH, "wb"))
  file:write(text)
  file:close()
  local pipeline, problem = make()
  if not pipeline then return check_error(problem, "pipeline") end
  local chat = assert(ebb.parse(ebb.json.encode(MESSAGES), { counter = counter }))
  local before = chat:json()
  local result
  result, problem = pipeline:run(chat)
  assert(chat:json() == before, "a run has changed the conversation")
  if not result then return check_error(problem, "run") end
  assert(ebb.json.decode(result.body))
end
