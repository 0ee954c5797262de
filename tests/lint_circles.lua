-- Holds the files against circles: no header may include itself by way of others, no .c file
-- may call itself by way of others, and no Lua module may require itself by way of others, also
-- not on first use. Calls in C are told from the names of the functions that are not static. Run
-- from the top of the checkout; exit status 1 if there is a circle. With -v it prints the arrows
-- within circles, for opening them.

local complaints = 0

local function complain(...)
  complaints = complaints + 1
  io.stderr:write(string.format(...), "\n")
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

--- The code of a file: without comments, strings and preprocessor lines.
local function code_of(text)
  text = text:gsub("/%*.-%*/", " "):gsub('\\"', ""):gsub('"[^"\n]*"', '""'):gsub("\\\n", " ")
  return (("\n" .. text):gsub("\n%s*#[^\n]*", "\n"))
end

--- The names of the functions that a file defines, which start in the first column:
--- name -> true for others to use, false for a static one.
local function definitions(code)
  local names = {}
  for start, stop in code:gmatch "\n()[%a_][^\n;{}=()]*%b()()" do
    local head = code:sub(start, stop - 1)
    local name = head:match "([%w_]+)%s*%("
    local first = head:match "^[%w_]+"
    if first == "static" then names[name] = false
    elseif first ~= "typedef" and code:match("^%s*{", stop) then names[name] = true end
  end
  return names
end

local function files_of(folder, pattern)
  local files = {}
  local pipe = assert(io.popen(("find %s -name '%s' | sort"):format(folder, pattern)))
  for path in pipe:lines() do files[#files + 1] = path end
  assert(pipe:close())
  return files
end

--- Lists of names that reach each other, by Tarjan's algorithm; only those of two or more.
local function circles(nodes, arrows)
  local index, low, stack, on_stack, count, result = {}, {}, {}, {}, 0, {}
  local function visit(node)
    count = count + 1
    index[node], low[node] = count, count
    stack[#stack + 1], on_stack[node] = node, true
    for _, other in ipairs(arrows[node]) do
      if not index[other] then
        visit(other)
        low[node] = math.min(low[node], low[other])
      elseif on_stack[other] then
        low[node] = math.min(low[node], index[other])
      end
    end
    if low[node] ~= index[node] then return end
    local members = {}
    repeat
      local member = table.remove(stack)
      on_stack[member] = nil
      members[#members + 1] = member
    until member == node
    if #members > 1 then
      table.sort(members)
      result[#result + 1] = members
    end
  end
  for _, node in ipairs(nodes) do
    if not index[node] then visit(node) end
  end
  return result
end

local function sorted_keys(set)
  local keys = {}
  for key in pairs(set) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- Headers, by what they include.
local function header_circles()
  local nodes, arrows = {}, {}
  for _, path in ipairs(files_of("runtime", "*.h")) do
    local name = path:gsub("^runtime/", "")
    nodes[#nodes + 1], arrows[name] = name, {}
  end
  for name, list in pairs(arrows) do
    for other in read("runtime/" .. name):gmatch '#include "([^"]+)"' do
      if arrows[other] then list[#list + 1] = other end
    end
  end
  return circles(nodes, arrows)
end

--- .c files, by the functions of others that they name.
local function call_circles()
  local nodes, arrows, codes, home, own = {}, {}, {}, {}, {}
  for _, path in ipairs(files_of("runtime", "*.c")) do
    local name = path:gsub("^runtime/", "")
    nodes[#nodes + 1] = name
    codes[name] = code_of(read(path))
    own[name] = definitions(codes[name])
    for defined, public in pairs(own[name]) do
      if public then home[defined] = name end
    end
  end
  for _, name in ipairs(nodes) do
    local others = {}
    for before, word in codes[name]:gmatch "([^%w_])([%a_][%w_]*)" do
      local other = own[name][word] == nil and home[word]
      if other and other ~= name and before ~= "." and before ~= ">" then others[other] = true end
    end
    arrows[name] = sorted_keys(others)
  end
  return circles(nodes, arrows), arrows
end

--- Modules of the library, by what they require. The face is left out: it shows what requires it.
local function module_circles()
  local nodes, arrows, known = {}, {}, {}
  for _, path in ipairs(files_of("lua/ebb", "*.lua")) do
    local name = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    if name ~= "ebb" and not name:find "^ebb%.meta" then nodes[#nodes + 1], known[name] = name, path end
  end
  for name, path in pairs(known) do
    local others = {}
    for line in io.lines(path) do
      local code = line:gsub("%-%-.*", "")
      for other in code:gmatch "require%s*%(?%s*[\"'](ebb[%w_.]*)[\"']" do
        if known[other] and other ~= name then others[other] = true end
      end
    end
    arrows[name] = sorted_keys(others)
  end
  return circles(nodes, arrows), arrows
end

local function judge(list, arrows)
  for _, members in ipairs(list) do
    complain("a circle of %d files: %s", #members, table.concat(members, " "))
  end
  if arg[1] ~= "-v" then return end
  for _, members in ipairs(arrows and list or {}) do
    local set = {}
    for _, member in ipairs(members) do set[member] = true end
    for _, member in ipairs(members) do
      local to = {}
      for _, other in ipairs(arrows[member]) do
        if set[other] then to[#to + 1] = other end
      end
      print(member .. " -> " .. table.concat(to, " "))
    end
  end
end

judge(header_circles())
judge(call_circles())
judge(module_circles())
os.exit(complaints == 0)
