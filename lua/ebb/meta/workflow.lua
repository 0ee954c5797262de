---@meta
--- ebb.workflow: nodes that run on a conversation, in order or along edges. `require "ebb.workflow"` is the same table.

---@alias ebb.Workflow table[]|table|ebb.WorkflowTable   a list of nodes, a node alone, or a table with a list
---@class ebb.WorkflowTable
---@field nodes table[]
---@field edges? (ebb.WorkflowEdge|{ [1]: string, [2]: string, when: boolean|string|nil })[]   of a graph: without them
---                            nodes run in order
---@field start? string        id of the first node of a graph; default: the first in the list
---@field name? string
---@field types? (string|ebb.OwnNodeType)[]   of nodes, besides the built-in ones: tables, or Lua files that return some
---@field tools? ebb.ToolDeclaration[]        what models may call
---@field folder? string       names of files are looked for there first, then in the current folder; `load` sets it

---@class ebb.WorkflowEdge     From a node to the next
---@field from string          id of a node
---@field to string            id of a node, or "end"
---@field when? boolean|string of a branch: its answer

---@class ebb.ToolDeclaration  One of run, command, file, mcp and recall
---@field name? string         of run and command: letters, digits, _ and -
---@field description? string
---@field parameters? string|table   words such as "text:string, n:int?", or a JSON schema
---@field run? fun(arguments: table, chat: ebb.Conversation): any, string?   a text or value for the model; nil and why not
---@field command? string      a shell command: reads {name, id, arguments} as JSON, writes the result
---@field file? string         a sandboxed Lua file that returns a tool, or a list of them, with run
---@field mcp? string          a shell command that starts a server of the Model Context Protocol
---@field env? string[]        of command and mcp: names of variables of the environment that it gets, besides HOME,
---    LANG, LANGUAGE, LC_*, LOGNAME, PATH, PWD, SHELL, TERM, TMPDIR, TZ, USER and XDG_*
---@field only? string[]       of mcp: names of the tools that are used; default: all
---@field prefix? string       of mcp: comes before their names
---@field recall? boolean      the tool `recall`: gives back what the handle of a trim stands for
---@field tokens? integer      of recall: most tokens of a result, at least one message; default 2000
---@field timeout? number      seconds for a command, or an answer of a server; default 60
---@field result_bytes? integer   longer results are cut; default 262144
---@field once? boolean        of run, command and mcp: not called again by a run that goes on after one that was killed
---@field trusted? boolean     of file: run it outside of the sandbox
---@field limits? ebb.Limits   of file

---@class ebb.WorkflowHost     What the program gives to a workflow; `ebb run` gives all of it
---@field http? fun(request: { url: string, headers: string[], body: string, seconds: number, idle_seconds: number },
---    hear?: fun(status: integer, head: string, bytes: string)): integer?, string, string   status, head and body; or
---    nil, why, and "connect", "timeout", "cut", "limit" or "absent"
---@field sleep? fun(seconds: number)         required with http
---@field converse? fun(command: string, input: string, seconds: number, options?: { variables: string[] }): string?,
---    string?   runs a shell command; `variables` are all of the environment that it may have (a name may end with *,
---    for all that begin so), nil: it may have all
---@field dialogue? fun(command: string, options?: { variables: string[] }): table?, string?   starts one that goes on:
---    say(text, seconds, wants_line), close()
---@field together? fun(count: integer, run: fun(number: integer): string): string[]?, ebb.Error?   runs a function for
---    several numbers at the same time
---@field services? table<string, fun(request: table): any, string?>   answers what processors of pipelines ask:
---    transcribe, asset and others
---@field show? fun(text: string)             gets answers as they come; without it they come whole
---@field say? fun(line: string)              gets lines about requests that are asked again
---@field reported? fun(chat: ebb.Conversation, ratio: number)   gets what chat:report_usage said of an answer's usage
---@field model_command? string               answers model nodes that name no command
---@field base_url? string                    of model nodes that name none
---@field record? fun(body: string, dialect: ebb.Dialect, response: string)   gets each request with its answer
---@field replay? fun(body: string, dialect: ebb.Dialect): string?, ebb.Error?   answers instead of a model

---@class ebb.WorkflowOptions
---@field model? fun(request: table): (string|table)?, string?   answers the requests of model nodes: a text,
---    {text = ...}, a provider's response, or nil and why
---@field host? ebb.WorkflowHost
---@field on_step? fun(entry: ebb.WorkflowStep)   called after each node
---@field on_begin? fun(where: string)            called before each node, with its place
---@field save? fun(chat: ebb.Conversation, position?: ebb.WorkflowPosition): ebb.Conversation?, ebb.Error?   called
---    after each node, and before and after calls of tools marked `once`: saves both together, and returns the
---    conversation that the run goes on with; nil and an error end the run. Without a position the run is over
---@field position? ebb.WorkflowPosition          where an earlier run of the workflow ended: the last that `save` got

---@class ebb.WorkflowPosition Where a run goes on; JSON can hold it
---@field workflow string      what its nodes are: a workflow with other nodes refuses the position
---@field after string         "node 2 (trim)"
---@field at integer[]
---@field calls? table         of tools marked `once`, in the node that runs

---@class ebb.WorkflowStep     What a node did
---@field node string          "node 2 (trim)"
---@field type string
---@field messages integer[]   before and after
---@field tokens integer[]     before and after
---@field milliseconds integer
---@field notes string[]
---@field ledger? ebb.Ledger   of a trim
---@field problem? ebb.Error   it failed

---@class ebb.OwnNodeType         A type of nodes that a workflow brings along
---@field name string             snake_case; not a built-in one
---@field summary? string
---@field example? string
---@field fields? table<string, ebb.OptionDeclaration>   of a node, besides type, id and name
---@field check? fun(options: table): string|boolean?, string?   what is wrong with options that are right one by one:
---                            a text, or nil and a text; nil, false or true: nothing
---@field run fun(chat: ebb.Conversation, options: table): any, string?   fails: an error, or nil and a reason

---@class ebb.workflow
---@field BYTES_MAX integer      of a file in JSON
local nodes = {}
--- Runs the nodes, in order or along the edges. All are checked before the first one runs, and mistakes in them raise. A node that fails ends the run; what earlier nodes did stays, and can be rolled back.
--- `ebb.workflow.run(chat, { { type = "trim", budget = 8000 }, { type = "filter", filter = "no_tools.lua" } })`
---@param chat ebb.Conversation
---@param workflow ebb.Workflow
---@param options? ebb.WorkflowOptions
---@return true? done
---@return ebb.Conversation|ebb.Error result   the conversation, or the one that a node put in its place (convert,
---    pipeline); the error names the node that failed
function nodes.run(chat, workflow, options) end
--- A drawing of a workflow, which is checked and not run. Of one that was read from JSON nothing runs.
---@param workflow ebb.Workflow
---@param form? "dot"|"svg"    dot, which Graphviz reads, is the default
---@return string
function nodes.draw(workflow, form) end
--- Checks a workflow without running it; raises for the first mistake. Of one that was read from JSON nothing runs: its
--- Lua files are compiled, or run in a sandbox.
---@param workflow ebb.Workflow
---@return { type: string, where: string, label: string, run: function }[]
---@return string[] unknown      what is not checked, for it would have to run
function nodes.check(workflow) end
--- The workflow of a JSON file, or that a Lua file returns, which runs with all rights of the program.
---@param path string
---@return table? workflow
---@return ebb.Error? problem
function nodes.load(path) end
--- True for a value of the form of a workflow, as a file returns it.
---@param value any
---@return boolean
function nodes.is_workflow(value) end
--- Returns why a value is no workflow: a slip in a field's name, or that there are no nodes in it.
---@param value any            of which is_workflow says false
---@param path string          of the file that it came from
---@return ebb.Error
function nodes.no_workflow(value, path) end
--- The types of nodes, with their options and an example of each; `prepare` is for `check`.
---@param workflow? ebb.Workflow   with its own types, too
---@return table<string, { summary: string, example: string, fields?: table, prepare: function }>
function nodes.types(workflow) end
