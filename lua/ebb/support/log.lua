--- Writes the library's messages: warnings, and `print` inside policies and filters.
--
-- Standard output belongs to results, so the default is standard error. A host
-- gives a function of its own with `log.to`.

local core = require "ebb.support.core"

local log = {}

local function to_stderr(line)
  io.stderr:write(line, "\n")
end

local sink = to_stderr

--- Sends every later line to `new_sink`; nil goes back to standard error.
---@param new_sink? fun(line: string)
---@return fun(line: string) before   what it was until now
function log.to(new_sink)
  local before = sink
  sink = new_sink or to_stderr
  return before
end

--- Bytes in it that are not UTF-8 become U+FFFD.
---@param line string
function log.write(line)
  sink(core.utf8(line))
end

--- Takes the place of `print` in policies and filters.
function log.print(...)
  local words = table.pack(...)
  for i = 1, words.n do
    words[i] = tostring(words[i])
  end
  log.write(table.concat(words, "\t"))
end

return log
