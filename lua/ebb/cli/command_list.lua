--- The commands that `ebb help` lists. Each is a module of its name, loaded when it is
--- used:
--
--     declare(parser)               its arguments and options
--     run(options) -> exit code?    nil is 0
--     places(options)?              files that the declarations do not show (places.lua)

local commands = {}

commands.list = {
  { name = "trim", summary = "Cut a conversation down to a token budget." },
  { name = "filter", summary = "Keep, drop or rewrite messages by a Lua file." },
  { name = "apply", summary = "Run operations from a JSON file: append, insert, replace, truncate and more." },
  { name = "input", summary = "Append a user's text: macros expanded, files attached, windows opened." },
  { name = "window", summary = "Open, update, close or show a window of a conversation." },
  { name = "run", summary = "Run a Lua script, or the nodes that a Lua file returns." },
  { name = "each", summary = "Run a workflow or a command over many conversations." },
  { name = "pipeline", summary = "Build a request body from a conversation and an agent." },
  { name = "count", summary = "Count tokens." },
  { name = "check", summary = "List what a provider would refuse." },
  { name = "convert", summary = "Write a conversation in the form of another provider." },
  { name = "import", summary = "Make an agent and a conversation from another program's file." },
  { name = "inspect", summary = "List a conversation's messages, with figures and warnings." },
  { name = "report", summary = "Write a conversation as a page of HTML, with what edits took away and why." },
  { name = "session", summary = "Keep conversations on disk: list, undo, branch, compare and check them." },
  { name = "recall", summary = "Write what a trim left out, by the name in its handle." },
  { name = "diff", summary = "Compare two conversations." },
  { name = "repl", summary = "Run Lua at a prompt, with a conversation loaded." },
  { name = "vocab", summary = "List, import or verify the vocabularies of exact counts." },
  { name = "policies", summary = "List trim policies, or the options of one." },
  { name = "processors", summary = "List the processors of a pipeline, or the settings of one." },
  { name = "macros", summary = "List the macros of presets, rules and input, or explain one." },
  { name = "rules", summary = "Try the regex rules of a file on a text." },
  { name = "models", summary = "List models: windows, encodings, prices, and how they are counted." },
  { name = "profiles", summary = "List servers' profiles: what each refuses beyond its dialect." },
  { name = "limits", summary = "List every limit, and what raises it." },
  { name = "completion", summary = "Write a completion script for bash, zsh or fish." },
  { name = "help", summary = "Explain a command or a topic." },
}

commands.names, commands.by_name = {}, {}
for i, command in ipairs(commands.list) do
  commands.names[i] = command.name
  commands.by_name[command.name] = command
end

return commands
