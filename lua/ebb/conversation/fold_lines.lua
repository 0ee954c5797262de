--- Removes noise from program output: terminal escapes, progress bars, repeated lines.

local fold_lines = {}

---@class ebb.Folding
---@field similar integer      lines in a row, alike but for numbers, from which on most are left out; 0: never
---@field list integer         lines or items from which on a list is long; 0: never
---@field tables integer       objects from which on a list becomes a table; 0: never

local FIRST, LAST = 10, 5     -- of a long list, what stays at its ends
local ALIKE = 0.8             -- share of a long list's lines that have one shape

--- The text without the escapes that color it and move the cursor.
local function without_escapes(text)
  if not text:find("\27", 1, true) then return text end
  text = text:gsub("\27%[[0-9;:?<=>]*[ -/]*[@-~]", ""):gsub("\27%][^\7\27]*\7?", "")
  return (text:gsub("\27[()][0-9A-Za-z]", ""):gsub("\27[@-_]", ""))
end

--- Returns what a terminal shows of a line: the text after its last carriage return, without spaces at the end.
local function shown(line)
  if line:find("\r", 1, true) then
    local last = #line
    while line:byte(last) == 13 do last = last - 1 end
    line = line:sub(1, last)
    line = line:match "^.*\r(.*)$" or line
  end
  return line:match "^.*%S" or ""
end

local function lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = shown(line)
  end
  return lines
end

--- A line with its numbers and bars masked: lines alike have one.
local function mask(line)
  return (line:gsub("%x%x%x%x%x%x%x+", "0"):gsub("%d+", "0"):gsub("[=#>*.~-]+", "-"))
end

--- The shape of a line: words and numbers masked.
local function shape(line)
  return (mask(line):gsub("[%w_\128-\255]+", "a"):gsub("%s+", " "))
end

--- Calls act(first, last) for each run of lines that have the same key, in order.
local function each_run(lines, key_of, act)
  local first, key = 1, lines[1] and key_of(lines[1])
  for i = 2, #lines + 1 do
    local other = lines[i] and key_of(lines[i])
    if other ~= key then
      act(first, i - 1)
      first, key = i, other
    end
  end
end

local function same(line) return line end

--- Equal lines once, with how often they came; empty ones once.
local function fold_equal(lines)
  local out = {}
  each_run(lines, same, function(first, last)
    local count = last - first
    out[#out + 1] = lines[first]
    if count == 1 and lines[first] ~= "" then out[#out + 1] = lines[first] end
    if count > 1 and lines[first] ~= "" then out[#out + 1] = ("[the same line %d times more]"):format(count) end
  end)
  return out
end

--- Keeps the first two and the last of lines that differ only in numbers.
local function fold_similar(lines, least)
  local out = {}
  each_run(lines, mask, function(first, last)
    local folds = last - first + 1 >= least and lines[first]:find "%S"
    for i = first, last do
      if not folds or i < first + 2 or i == last then out[#out + 1] = lines[i] end
      if folds and i == first + 2 then out[#out + 1] = ("[%d similar lines left out]"):format(last - first - 2) end
    end
  end)
  return out
end

---- Stack traces ----

--- True if this is a frame of a stack trace, in Java, JavaScript, Python, Go, C.
local function is_frame(line)
  return line:find "^%s+at%s" or line:find '^%s+File ".*line %d' or line:find "^%s*#%d+%s+%S" or line:find "^\t/.*:%d"
end

--- A stack trace that came before gives way to a note.
local function fold_traces(lines)
  local out, seen, i = {}, {}, 1
  while i <= #lines do
    local last = i - 1
    if is_frame(lines[i]) then
      last = i
      while lines[last + 1] and (is_frame(lines[last + 1]) or lines[last + 1]:find "^%s+%S") do last = last + 1 end
    end
    local trace = last - i >= 2 and table.concat(lines, "\n", i, last)
    if trace and seen[trace] then
      out[#out + 1] = ("[%d lines of the same stack trace as above]"):format(last - i + 1)
    else
      table.move(lines, i, math.max(i, last), #out + 1, out)
    end
    if trace then seen[trace] = true end
    i = math.max(i, last) + 1
  end
  return out
end

---- Long lists ----

--- The shape that most lines from `first` to `last` have, if enough have one; and the shapes.
local function common_shape(lines, first, last)
  local shapes, counts, most = {}, {}, nil
  for i = first, last do
    local key = shape(lines[i])
    shapes[i], counts[key] = key, (counts[key] or 0) + 1
    if not most or counts[key] > counts[most] then most = key end
  end
  return counts[most] >= ALIKE * (last - first + 1) and most, shapes
end

--- Adds a long list's first and last lines and those of another shape; what lies between them is counted.
local function add_list(out, lines, first, last, common, shapes)
  local left_out = 0
  local function tell()
    if left_out > 0 then out[#out + 1] = ("[%d more lines left out]"):format(left_out) end
    left_out = 0
  end
  for i = first, last do
    if i < first + FIRST or i > last - LAST or shapes[i] ~= common then
      tell()
      out[#out + 1] = lines[i]
    else
      left_out = left_out + 1
    end
  end
end

--- Keeps the first lines, the last lines and the lines of another shape of long listings and tables.
local function fold_lists(lines, least)
  local out = {}
  each_run(lines, function(line) return line ~= "" end, function(first, last)
    local common, shapes
    if last - first + 1 >= math.max(least, FIRST + LAST + 2) and lines[first] ~= "" then
      common, shapes = common_shape(lines, first, last)
    end
    if common then return add_list(out, lines, first, last, common, shapes) end
    table.move(lines, first, last, #out + 1, out)
  end)
  return out
end

--- The text as it is read best; the same text for one that has nothing to fold.
---@param text string
---@param folding ebb.Folding
---@return string
function fold_lines.fold(text, folding)
  local lines = fold_equal(lines_of(without_escapes(text)))
  if folding.similar > 0 then lines = fold_similar(lines, math.max(folding.similar, 4)) end
  lines = fold_traces(lines)
  if folding.list > 0 then lines = fold_lists(lines, folding.list) end
  return table.concat(lines, "\n")
end

return fold_lines
