--- Holds names, comments and texts against plain English: a sentence says subject, verb,
-- object, and a name is a noun of the field or a verb. The list names the phrases that
-- readers stumbled over most. Run from the top of the checkout; exit status 1 if any
-- stands in a file; with --count, hits per folder instead.

--- Each phrase, as an extended regular expression for whole words, and what to write.
local PHRASES = {
  { "that there (is|are) not", "that does not exist" },
  { "(what|which) is no(ne)?", "say what it is" },
  { "whoever|whatever else|whosoever", "name the caller" },
  { "(that|where|what|because|if|when) (nobody|anybody|somebody)|somebody else", "name the owner or caller" },
  { "of (yours|ours|theirs)", "your own ..." },
  { "who (drops|holds|makes|has) (that|this|it|one)", "because ..." },
  { "in the eyes of", "for" },
  { "as (it|they) (is|are) told", "as documented" },
  { "(that|it|one|which) is none", "is not a ..." },
  { "so many (tokens|bytes|messages)", "say the number's name" },
  { "behind (which|whom)", "after" },
}

--- Names that are participles, as a local or a parameter in the library's Lua.
local NAMES = { "given", "found", "made", "asked", "told", "held", "sent" }

--- First words of comments that are no sentences ("What a trim knows.", "Is it a call?"): a comment says who does what.
local OPENINGS = "(What|Those|Where|Who|Of|The same|Has|One whose|How|Which|Why|Whether|Is|Are|Does|May|Can|Was)"

--- The folders whose comments are held against OPENINGS: the files, how a comment line begins, and whether a hit is a
--- complaint; if not, only --count shows it.
local COMMENTED = {
  { folder = "lua", files = "*.lua", begins = "^ *---? ", is_held = true },
  { folder = "scripts", files = "*.lua", begins = "^ *---? ", is_held = true },
  { folder = "tests", files = "*.lua", begins = "^ *---? ", is_held = true },
  { folder = "runtime", files = "*.[ch]", begins = "^ *(/[*][*]?|[*]) ", is_held = false },
}

--- Words that say after, next to, is: not in comments and quoted texts of these files. The idioms may stay.
local PLAIN = { { "behind", "after" }, { "beside", "next to" }, { "stands", "is, comes, occurs" } }
local IDIOMS = { "stands for", "stands in for", "stands in where", "stands in until" }
local PLAIN_FILES = "'lua/*.lua' 'scripts/*.lua' 'scripts/*.md' README.md CONTRIBUTING.md"

local SOURCES = "runtime lua scripts tests docs man Makefile README.md CONTRIBUTING.md"

--- Words of stories and samples; tests may compare with documents outside the repository.
local EXEMPT = "':!tests/lint_words.lua' ':!*.txt' ':!*.json' ':!scripts/agents/files'"
  .. " ':!tests/bench/generate.lua' ':!tests/faults/io.sh' ':!tests/bench/rules.lua'"
local ORIGINS = "':!tests'"
local count_only = arg[1] == "--count"
local complaints, per_folder = 0, {}

local function complain(line, advice)
  complaints = complaints + 1
  local folder = line:match "^([%w_.]+/[%w_.]+)" or line:match "^[^:]+"
  per_folder[folder] = (per_folder[folder] or 0) + 1
  if not count_only then io.stderr:write(line:sub(1, 150), "  [", advice, "]\n") end
end

--- Lines of tracked files that match; git answers 1 when there are none.
local function grep(expression, flags, paths)
  local command = ("git grep -n -I -w -E %s -e '%s' -- %s %s"):format(flags, expression, paths, EXEMPT)
  local pipe = assert(io.popen(command))
  return pipe:lines()
end

for _, phrase in ipairs(PHRASES) do
  for line in grep("(" .. phrase[1] .. ")", "-i", SOURCES) do
    complain(line, phrase[2])
  end
end

for _, name in ipairs(NAMES) do
  local declared = ("local ([a-z_, ]+, )?%s( =|,|$)|function[^(]*[(]([a-z_, ]+, )?%s[,)]"):format(name, name)
  for line in grep(declared, "", "lua scripts") do
    complain(line, "a noun in the place of " .. name)
  end
end

for _, row in ipairs(COMMENTED) do
  for line in grep(row.begins .. OPENINGS, "", ("'%s/%s'"):format(row.folder, row.files)) do
    if row.is_held or count_only then complain(line, "subject, verb, object: say what it does or returns") end
  end
end

--- True if a line of a file has the word in its comment or in a text, not only as a name of the program.
local function says(line, word)
  for _, idiom in ipairs(IDIOMS) do line = line:gsub(idiom, "") end
  if not line:find "^[^:]+%.lua:" then return line:find(word, 1, true) ~= nil end
  local texts = { line:match "%-%-.*" }
  for text in line:gsub("%-%-.*", ""):gmatch '"[^"]*"' do texts[#texts + 1] = text end
  return table.concat(texts, " "):find("%f[%w]" .. word .. "%f[%W]") ~= nil
end

for _, row in ipairs(PLAIN) do
  for line in grep(row[1], "-i", PLAIN_FILES) do
    if says(line:lower(), row[1]) then complain(line, row[2]) end
  end
end

for line in grep("(BEHAVIOUR|DESIGN|SAFETY|STYLE)\\.md", "", ". " .. ORIGINS) do
  complain(line, "the document is not in the repository")
end

if count_only then
  for folder, count in pairs(per_folder) do print(count, folder) end
end
os.exit(complaints == 0)
