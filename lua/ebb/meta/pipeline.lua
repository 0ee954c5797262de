---@meta
--- Pipelines, and the types that authors of processors write.

--- Options of a pipeline, which makes the body of a request from a conversation. Processors get an ebb.Context.
---@class ebb.PipelineOptions
---@field agent? string|table      a file (JSON in camelCase, or Lua), the text of a JSON object, or a table in snake_case: name, presets, rules,
---                                processors, variables, parameters, asset_root ...
---@field model_config? string|table   model, provider, capabilities, processors, parameters
---@field user_profile? string|table   name, description, rules, variables
---@field model? string            the model's name; default: the model's file, the agent, the body
---@field encoding? string
---@field keep_extra? boolean       members of messages that requests do not have stay
---@field to? ebb.Dialect          of the body; default: the model's, else that of the conversation
---@field counter? fun(message: ebb.Message): integer
---@field set? string[]            single settings: { "token-limiter.budget=4000" }
---@field processors? (string|table)[]   processors, Lua files that return some, folders of these
---@field macros? ebb.MacroRegistry|(string|ebb.MacroDeclaration)[]   your own macros: a registry; or Lua files that
---                                return some, folders of these and declarations, besides the built-in ones
---@field on_error? "stop"|"skip"  when a processor fails; default: stop
---@field limits? ebb.Limits       of each run of a processor, policy or agent from a file, and of each macro in a run;
---                                its fuel also holds for processors that are functions. Its deadline also holds for
---                                the sum of rules, presets, macros and processors from files in a run, in CPU time;
---                                the texts that they add have a quarter of its memory
---@field trusted? boolean         files run in this state instead, without limits
---@field asset_root? string       the folder of attachments, instead of the agent's own
---@field session? { id?: string, name?: string, variables?: { local?: table, global?: table }, tool_context?: string }
---                                tool_context: {{tool_context}}
---@field host? table<string, fun(request: table): any, string?>   answers transcribe, asset, retrieve ...
---@field reads? string[]         services of the host that a preview may ask, too: they only read. asset, retrieve and
---                                the cache's get always may
---@field now? integer             ms since 1970; default: the clock
---@field zone? integer            minutes east of UTC; default: 0
---@field seed? integer            for dice; default: made from the conversation
---@field role_map? table<string, ebb.Role>
---@field max_message? integer
---@field max_file? integer
---@class ebb.PipelineResult
---@field body string              the request, as JSON; made when it is first read
---@field chat ebb.Conversation    the same, as a conversation of its own
---@field tokens integer
---@field trust string
---@field budget? integer
---@field logs { processor: string, level: "info"|"warn"|"error", message: string, details?: any }[]
---@field parts { role: string, source: string, tokens: integer, text: string, message?: integer, sources?: table[] }[]
---                                what is sent. message: its number in `chat`; nil: the system texts outside the
---                                messages, which come first. sources: of a merged one: {source, source_id, seq, role,
---                                tokens} of each
---@field ledger ebb.PipelineCut[]   what the token limiter dropped, replaced and inserted
---@field shares { source: string, messages: integer, tokens: integer, share: number }[]
---@field repair? ebb.RepairReport   what was mended before it was written
---@field skipped string[]         processors that are disabled
---@field unasked { service: string, request: table }[]   what a preview has not asked the host: if there is nothing,
---                                the real request is the same, byte for byte
---@field shared_data table
---@field variables ebb.Variables   as the macros left them; the conversation keeps what they changed
---@class ebb.PipelineRun
---@field preview? boolean        no effects outside of the run
---@field trace? function         trace(step, messages, failure) is called after each processor
---@field on_step? function       on_step(step, failure, chat), likewise, and takes less time
---@field session? { id?: string, name?: string, variables?: { local?: table, global?: table }, tool_context?: string }
---                                instead of the pipeline's, and so are now and seed
---@field now? integer            ms since 1970
---@field seed? integer
---@class ebb.PipelineCut       What became of a message of the history
---@field action ebb.Action
---@field seq? integer            of the stored message; nil for one that was inserted
---@field role ebb.Role
---@field by string               the policy
---@field reason string
---@field tokens integer          freed
---@field text? string            of a message that was cut short (retained_characters): what is left of it
---@field left? integer           its tokens
---@class ebb.Pipeline
local Pipeline = {}
--- Runs all processors on copies of the visible history. The messages of the conversation are only read; it keeps the
--- macro variables that the run changed, in a new batch, and the timers of lorebooks.
---@param chat ebb.Conversation
---@param options? ebb.PipelineRun
---@return ebb.PipelineResult? result
---@return ebb.Error? problem  names the processor that failed; code: "cannot_fit", "processor", "absent" ...
---@return { logs: table[] }? partial
function Pipeline:run(chat, options) end
--- Runs all processors as `run` does, but without effects outside of the run.
---@param chat ebb.Conversation
---@param options? ebb.PipelineRun
---@return ebb.PipelineResult? result
---@return ebb.Error? problem
function Pipeline:preview(chat, options) end
--- Begins a run that waits where the host is asked and no function answers:
--- `local request = task:step()`, `while request do request = task:step(answer(request)) end`.
---@param chat ebb.Conversation
---@param options? ebb.PipelineRun
---@return ebb.PipelineTask
function Pipeline:task(chat, options) end
--- Changes one setting: `pipeline:set "token-limiter.budget=4000"`. Where it is wrong, nothing changes.
---@param word string
function Pipeline:set(word) end
--- Adds processors; one with the id of another takes its place.
---@param source string|ebb.Processor|ebb.Processor[]   a file or a folder of them, or processors
function Pipeline:add(source) end
--- Removes a processor. Core ones cannot be removed, but disabled.
---@param id string
function Pipeline:remove(id) end
--- Lets a processor run, or not; `message-formatters` means these four.
---@param id string
---@param enabled? boolean      default: true
function Pipeline:enable(id, enabled) end
--- Lets these processors run first, in this order; the others follow in theirs.
---@param ids string[]
function Pipeline:reorder(ids) end
--- The visible history as a reader is shown it: with the rules of stage `render`.
---@param chat ebb.Conversation
---@param options? { streaming?: boolean }   the last message is still being written
---@return ebb.WorkingMessage[] messages
---@return ebb.LogEntry[] logs
function Pipeline:display(chat, options) end
--- The settings of all processors, in the order in which they run: {id, enabled, priority, its own settings, origins:
--- where each of them comes from}. An agent's `processors` take the list as it is, or as JSON: a pipeline that is made
--- with it, and has the same processors of others, has this order and these settings. Names of files in it count from
--- the file that has them.
---@return ebb.SettingEntry[]
function Pipeline:settings() end
--- Expands the macros of a text of the user, as a run would do it now. The conversation stays as it is.
---@param chat ebb.Conversation
---@param text string
---@return string text
---@return ebb.Variables variables   as the macros left them
---@return ebb.Variables before      as they found them
function Pipeline:expand(chat, text) end
--- The processors in the order in which they run, disabled ones too, with their settings.
---@return { processor: table, setting: table, is_core: boolean, built_in: boolean }[]
function Pipeline:order() end

---@class ebb.SettingEntry       Its own settings are next to these fields, by key
---@field id string
---@field enabled boolean
---@field priority number
---@field origins table<string, "default"|"model"|"agent"|"set">

---@class ebb.PipelineTask       A run under way
---@field done boolean
---@field result? ebb.PipelineResult
---@field error? ebb.Error        why there is no result
---@field partial? { logs: ebb.LogEntry[] }   with an error: what was done until then
local PipelineTask = {}
--- Goes on with the answer to the last request. Raises {code = "closed"} for a task that is done.
---@param answer? any           nil: there is none
---@param why? string           the reason then
---@return { service: string, request: table }? request   nil: the task is done
function PipelineTask:step(answer, why) end

---@class ebb.WorkingMessage    A copy that processors change in place; every other field of the message is there too
---@field role string            as the message spells it: developer, function
---@field content? string|table[]   a text, or parts: {type = "text", text =}, {type = "image_url", ...},
---                              {type = "asset", attachment =}
---@field attachments? ebb.Attachment[]   not yet resolved
---@field source string          "history", "preset", "depth", "anchor", "window", "input", "merged", "placeholder",
---                              "plugin"
---@field source_id? string|integer   of the preset, or of the message
---@field sources? table[]       of a merged one: {source, source_id, seq, role, bytes} of each; bytes: of its texts
---@field seq? integer           of the stored message; nil once it stands for several or for none
---@field origin? integer        seq of the stored message that it was made from, for its marks
---@field trusted? boolean       macros may be expanded in it

---@class ebb.Attachment         A file that a message refers to
---@field id? string
---@field name? string
---@field path? string           below the folder of attachments
---@field data? string           a data URI
---@field mime? string
---@field kind? "text"|"image"|"audio"|"video"|"document"|"file"
---@field placeholder? string    text that its transcript replaces; without one it follows after a newline

---@class ebb.Processor          A stage of a pipeline; a Lua file returns one, or a list of them
---@field id string              letters, digits, - and _; unique; the built-in ones are in kebab-case
---@field name string
---@field description? string
---@field priority? number       a lower one runs earlier; default 900
---@field icon? string
---@field is_core? boolean       it can be disabled, but not removed
---@field default_enabled? boolean   default true
---@field config_fields? ebb.ConfigField[]
---@field execute fun(context: ebb.Context, config: table)

---@class ebb.ConfigField        A setting of a processor: `config[key]` in `execute`
---@field key string
---@field label? string
---@field type? "text"|"number"|"boolean"|"select"
---@field default? any
---@field placeholder? string    what a form shows in the empty field
---@field options? any[]         of a select: values, or {label =, value =}
---@field help? string           a sentence for a form
---@field whole? boolean         of a number: it has no fraction
---@field min? number            of a number: the least
---@field max? number            of a number: the greatest

---@class ebb.LogEntry
---@field processor string       its id
---@field level "info"|"warn"|"error"
---@field message string
---@field details? any

---@class ebb.Context            What a processor works on; only `messages` and `shared_data` can be assigned
---@field messages ebb.WorkingMessage[]
---@field session table          {id, name, variables}; variables: {local, global} of user, agent, conversation and
---                              session, the last one decides, as macros leave them; in a sandbox as they were when
---                              the processor began
---@field user_profile? table    {name, description, ...}
---@field agent_config table     the agent's file, in snake_case
---@field capabilities table     {dialect, model, provider, vision, audio, video, document, window, output, margin};
---                              an ability is true, false, or nil where nothing is known of it
---@field timestamp integer      ms since 1970
---@field shared_data table      passed from one processor to the later ones
---@field logs ebb.LogEntry[]
---@field preview boolean        true: nothing outside of this context may change
local Context = {}
--- Adds a line to the log, under the id of the processor: `context:log("info", "3 messages merged")`.
---@param level "info"|"warn"|"error"
---@param message string
---@param details? any
function Context:log(level, message, details) end
--- Expands macros in a text of the agent or the user; their problems are logged.
---@param text string                 from a file of others: 256 KiB at most
---@param options? { values?: table }   values: further variables, by name
---@param where? string            what the text is, for the log: "preset message 1"
---@return string
function Context:expand(text, options, where) end
--- Asks the host: "transcribe", "asset", "retrieve". Within a run the same request has one answer,
--- so a stage that is tried twice asks once.
---@param service string
---@param request table
---@return any answer            nil: the host has none
---@return string? why           the host's reason
function Context:call(service, request) end
--- Tokens of a request with these messages, framing and tools included.
---@param messages ebb.WorkingMessage[]
---@return integer tokens
---@return ebb.Conversation chat   the request as a conversation of its own; in a sandbox nil
function Context:weigh(messages) end
--- The visible history as new working copies.
---@return ebb.WorkingMessage[]
function Context:history() end
--- Ids of windows that the history refers to but that do not exist.
---@return string[]
function Context:missing_windows() end
--- Makes a conversation of these messages, with the marks of the stored ones, and items in place of windows'
--- markup: something to trim. Its seqs are places in the list. Not in a sandbox.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer   in place of the request's own counter
---@return ebb.Conversation
---@return table<string, string>? texts   markup of its windows, by id; nil where there are none
function Context:history_chat(messages, counter) end
--- True if only built-in processors follow the one that runs.
---@return boolean
function Context:only_core_follows() end
--- Tokens of the request if the later processors got these messages; nil if one of them failed.
--- The messages themselves stay as they are: the processors run on copies.
---@param messages ebb.WorkingMessage[]
---@return integer? tokens
function Context:forecast(messages) end
--- Returns how to run a file that this setting of the processor names: {limits, trusted, folder}; folder: that of the
--- agent's or model's file with the setting, below which the file must lie. Not in a sandbox.
---@param key string
---@return ebb.Loading
function Context:loading(key) end
