--- Node `pipeline`: the conversation becomes the request that a pipeline builds of it.
--
--     { type = "pipeline", agent = "agent.json", set = { "token-limiter.budget=8000" } }
--
-- For a model that sees such a request while the conversation stays as it is, give the fields to the model node.

local pipelines = require "ebb.pipeline"
local locate = require "ebb.workflow.locate"
local refuse = require "ebb.support.refuse"
local successor = require "ebb.workflow.successor"

local pipeline = {}

--- The Lua files of processors or macros, each of them located. A workflow in JSON names no folder of them.
local function located_list(list, place)
  local result = {}
  for i, source in ipairs(list) do
    if type(source) == "string" and place.contained and not source:find "%.lua$" then
      refuse("forbidden", ("a workflow in JSON names Lua files one by one, not '%s'"):format(source), "name.lua")
    end
    result[i] = type(source) == "string" and locate.file(source, place) or source
  end
  return result
end

--- Files that the fields of a pipeline name, located; a text of JSON stays as it is.
local function located(options, place)
  local result = {}
  for key, value in pairs(options) do result[key] = value end
  for _, name in ipairs { "agent", "model_config", "user_profile" } do
    local word = result[name]
    if type(word) == "string" and not word:find "^%s*{" then result[name] = locate.file(word, place) end
  end
  for _, name in ipairs { "processors", "macros" } do
    if type(result[name]) == "table" and rawlen(result[name]) > 0 then
      result[name] = located_list(result[name], place)
    end
  end
  return result
end

--- A pipeline of a node's fields; raises what is wrong.
---@param options table
---@param place ebb.WorkflowPlace
---@return ebb.Pipeline
function pipeline.open(options, place)
  return pipelines.new(located(options, place))
end

--- Lets the program that runs the workflow answer the pipeline's processors, unless the node names a host.
---@param pipe ebb.Pipeline
---@param host ebb.WorkflowHost
function pipeline.serve(pipe, host)
  pipe.options.host = pipe.options.host or host.services
end

pipeline.summary = "replaces the conversation by the request that a pipeline builds"
pipeline.example = '{ type = "pipeline", agent = "agent.json", set = { "token-limiter.budget=8000" } }'
pipeline.fields = pipelines.OPTIONS

function pipeline.prepare(options, place)
  local pipe = pipeline.open(options, place)
  return function(chat, run)
    pipeline.serve(pipe, run.host)
    local result, problem = pipe:run(chat)
    if not result then return nil, problem end
    for _, entry in ipairs(result.logs) do
      if entry.level ~= "info" then run:note(("%s: %s"):format(entry.processor, entry.message)) end
    end
    run:use(successor(chat, result.body))
    return true
  end
end

---@type ebb.NodeType
return pipeline
