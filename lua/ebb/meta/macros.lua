---@meta
--- ebb.macros: {{user}}, {{setvar::mood::calm}}, {{roll::2d6}} in presets, rules and texts. Needs LPeg.
--- `require "ebb.macros"` is the same table.

---@class ebb.macros
---@field limits table<string, integer>   of one expansion: steps, bytes, depth ...
---@field values string[]      names that `values` of an environment may have
local macros = {}
--- Expands the macros of a trusted text, in one pass from left to right. Values that the author of an agent or a user
--- wrote (description, personality, scenario, persona ...) are expanded where a macro asks for them; others are not, and
--- an unknown macro stays as it is. Names of macros have any case. At a limit nothing is changed, which the report says.
---@param text string
---@param environment ebb.MacroEnvironment
---@param options? { values?: table<string, any>, transform?: fun(text: string): string }   values: before those of the
---                           environment; transform: changes what each outermost macro gave
---@return string text
---@return ebb.MacroReport report
function macros.expand(text, environment, options) end
--- Makes what macros read and change: `ebb.macros.environment { values = { user = "Ann" }, now = 1762554605000 }`.
---@param fields? ebb.MacroFields
---@return ebb.MacroEnvironment
function macros.environment(fields) end
--- Makes a registry to add macros to; it begins with the built-in ones, or with those of another registry.
---@param parent? ebb.MacroRegistry
---@return ebb.MacroRegistry
function macros.registry(parent) end
--- The declarations of a registry, sorted by name: what a form or a help page shows.
---@param registry? ebb.MacroRegistry   default: the built-in macros
---@return ebb.MacroListing[]
function macros.list(registry) end
--- Problems of a template, found without expanding it; an empty list if there are none.
---@param text string
---@param registry? ebb.MacroRegistry
---@return ebb.MacroProblem[]
function macros.check(text, registry) end
--- True if the content of braces is a macro with the right number of arguments: "user", "setvar::a::b".
---@param content string
---@param options? { registry?: ebb.MacroRegistry, language?: "en"|"zh" }   language: of `error`
---@return { valid: boolean, error?: string, suggestions?: string[] }
function macros.validate(content, options) end
--- A text that expands to this one.
---@param text string
---@return string
function macros.escape(text) end

---@class ebb.MacroProblem
---@field position integer         byte in the template
---@field message string
---@field hint? string

---@class ebb.Variables          Macro variables by name: texts, numbers, or what a program put there
---@field local table<string, any>        of the conversation
---@field global table<string, any>       of all conversations; each keeps its own unless a program shares them

---@class ebb.MacroFields           Of an environment; all are optional
---@field values? table<string, string|number|fun(): string?>   by the names of ebb.macros.values
---@field variables? { ["local"]: table?, global: table? }      macros change them in place
---@field now? integer               ms since 1970; without it macros of dates are errors
---@field zone? integer              minutes east of UTC; default 0
---@field seed? integer              of random, randomInt and roll; default: from session_id and now
---@field session_id? string         `pick` makes the same choice for the same session
---@field history? fun(kind: "last"|"user"|"assistant"|"id"|"instant"): string|integer|nil   the last message, the last
---                                 one of a role; the number of the last one from 0; ms of the user's last one
---@field virtual_time? { virtual_base: integer|string, real_base: integer|string, scale: number? }
---                                 the time of a story: virtual_base + (now - real_base) * scale; ms or ISO 8601
---@field registry? ebb.MacroRegistry
---@field error_text? "en"|"zh"      a failed macro becomes its error in this language; default: it stays as it is

---@class ebb.MacroEnvironment: ebb.MacroFields   Made by ebb.macros.environment
local Environment = {}
--- A random number from 0 to count - 1; the same seed gives the same numbers.
---@param count integer
---@return integer
function Environment:draw(count) end
--- The time that dates show, which may be that of a story; nil without a clock.
---@return integer? ms
function Environment:instant() end

---@class ebb.MacroReport
---@field unknown { name: string, position: integer }[]
---@field errors { level: "error"|"warning", code: string, name: string?, position: integer, message: string,
---                                source: string? }[]   source: the macro as it is
---@field literal table<string, boolean>   names in braces that an escape keeps: \{{name}}
---@field volatile string[]        names of the volatile macros in the text
---@field stability "stable"|"session"|"turn"|"volatile"   of the least stable part of the text
---@field least? { name: string, position: integer }   the macro that makes it so; nil if all is stable
---@field count integer            macros that were evaluated
---@field omitted integer          entries left out because a list was full
---@field stopped boolean          at a limit: the text is unchanged

---@class ebb.MacroCall          In a sandbox `environment` has now, zone, seed, session_id, error_text, variables, history,
---                           draw and instant
---@field environment ebb.MacroEnvironment
---@field name string          as written, which may be an alias
---@field position integer
---@field held integer         stability of its arguments, 1 (stable) to 4 (volatile)
---@field stability? string    set it where a value is less stable than declared
local Call = {}
--- A value of the environment as a text, expanded if it is a template (`description` ...); nil if it has none of that
--- name.
---@param name string
---@return string?
function Call:value(name) end
--- Expands the macros of a trusted text, for macros that are templates; its cost counts as the outer text's.
---@param text string                 from a file of others: 256 KiB at most
---@return string
function Call:expand(text) end
--- Must be called before a macro makes a text that is longer than its arguments: stops the expansion at its limit.
---@param bytes integer        from 0 on
function Call:allow(bytes) end

---@class ebb.MacroDeclaration
---@field name string          letters, digits, _ . - and characters beyond ASCII
---@field summary string       one line, for help
---@field parameters? string[] "text", "count?" (optional), "option..." (one or more); default: no arguments
---@field stability "stable"|"session"|"turn"|"volatile"   how long its value stays the same
---@field run fun(call: ebb.MacroCall, ...: string): string|number|nil, string?, ...
---                             its text; or nil and the reason
---@field example? string
---@field aliases? string[]
---@field silent? boolean      writes nothing, so its arguments do not make the text less stable
---@field commas? boolean      {{name:a,b}} is read as {{name::a::b}}
---@field unread? boolean      a comment: it gives nothing, and its arguments are not evaluated
---@field trims? boolean       without arguments it removes the white space on both sides

---@class ebb.MacroListing
---@field name string
---@field summary string
---@field parameters string[]
---@field stability string
---@field example? string
---@field aliases? string[]

---@class ebb.MacroRegistry
local Registry = {}
--- Adds a macro, in place of one of the same name. Raises for a declaration that is not valid.
---@param declaration ebb.MacroDeclaration
function Registry:add(declaration) end
--- The declaration of a name or alias.
---@param name string
---@return ebb.MacroDeclaration?
function Registry:find(name) end
--- Returns all names and aliases, sorted.
---@return string[]
function Registry:names() end
--- The declarations, sorted by name.
---@return ebb.MacroListing[]
function Registry:list() end
