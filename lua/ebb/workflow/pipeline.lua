--- Node `pipeline`: the conversation becomes the request that a pipeline builds of it.
--
--     { type = "pipeline", agent = "agent.json", set = { "token-limiter.budget=8000" } }
--
-- For a model that sees such a request while the conversation stays as it is, give the fields to the model node.

local pipelines = require "ebb.pipeline"
local locate = require "ebb.workflow.locate"
local successor = require "ebb.workflow.successor"

local pipeline = {}

--- Files that the fields of a pipeline name, located.
local function located(options, place)
  local result = {}
  for key, value in pairs(options) do result[key] = value end
  for _, name in ipairs { "agent", "model_config", "user_profile" } do
    if type(result[name]) == "string" then
      local path, folder = locate.path(result[name], place)
      result[name] = (folder or "") .. path
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

--- What the pipeline's processors ask is answered by the program that runs the workflow, unless the node says who does.
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
