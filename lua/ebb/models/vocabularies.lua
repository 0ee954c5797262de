--- Vocabularies: the folders in which they are, and the images in them.
--
-- An encoding is the name of an image, a file NAME.vocab in one of these
-- folders; the first folder that has it counts:
--
--     $EBB_VOCAB_PATH                    where it is set: for containers and tests, which have no home
--     $XDG_DATA_HOME/ebb/vocab           the user's own imports (~/.local/share/ebb/vocab)
--     share/ebb/vocab                    next to the command or the module, or above it: what make installed

local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local xdg = require "ebb.support.xdg"

local vocabularies = {}

local SUFFIX = ".vocab"
local LEVELS = 4   -- PREFIX/lib/lua/5.4/ebb/core.so is four folders below PREFIX

--- Loaded by the first image that is opened: a host without vocabularies does without it.
local function checked_images() return require "ebb.models.checked_images" end

--- Returns the folder of vocabularies that users import; nil without a home.
---@return string?
function vocabularies.user_folder()
  return xdg.path("data", "vocab")
end

--- Folders above the command or the module, the nearest first.
local function add_installed(folders)
  local folder = (core.vocab.home() or ""):match "^(.*)/[^/]*$"
  for _ = 0, LEVELS do
    if not folder then return end
    folders[#folders + 1] = folder .. "/share/ebb/vocab"
    folder = folder:match "^(.*)/[^/]+$"
  end
end

---@return string[]
function vocabularies.folders()
  local folders = {}
  local path = os.getenv "EBB_VOCAB_PATH"
  if path and path ~= "" then folders[1] = path end
  folders[#folders + 1] = vocabularies.user_folder()
  add_installed(folders)
  return folders
end

--- The images there are, by name; an image hides others of its name in later folders.
---@return { name: string, path: string }[]
function vocabularies.list()
  local images, seen = {}, {}
  for _, folder in ipairs(vocabularies.folders()) do
    for _, file in ipairs(core.list_folder(folder) or {}) do
      local name = file:sub(-#SUFFIX) == SUFFIX and file:sub(1, -#SUFFIX - 1)
      if name and name ~= "" and not seen[name] then
        seen[name] = true
        images[#images + 1] = { name = name, path = folder .. "/" .. file }
      end
    end
  end
  table.sort(images, function(a, b) return a.name < b.name end)
  return images
end

local ENOENT, ENOTDIR = 2, 20

--- True if the file exists, readable or not; who opens it gets the error.
--- Folders without permission to look into count as empty.
local function is_there(folder, path)
  local file, _, number = io.open(path, "rb")
  if file then file:close() end
  if file or number == ENOENT or number == ENOTDIR then return file ~= nil end
  return core.list_folder(folder) ~= nil
end

--- The path of an encoding's image, or nil.
---@param encoding string
---@return string?
function vocabularies.find(encoding)
  if encoding:find "/" then return nil end
  for _, folder in ipairs(vocabularies.folders()) do
    local path = folder .. "/" .. encoding .. SUFFIX
    if is_there(folder, path) then return path end
  end
end

--- Returns the file name of an image in its folder.
---@param name string
---@return string
function vocabularies.file_name(name)
  return name .. SUFFIX
end

local function hint_for(encoding)
  local names = {}
  for i, image in ipairs(vocabularies.list()) do
    names[i] = image.name
  end
  if #names == 0 then return "no vocabulary is installed; " .. hints.vocabularies end
  return suggest.hint(encoding, names)
    or ("there are %s; %s"):format(table.concat(names, ", "), hints.vocabularies)
end

--- Calls with the images that were checked earlier; remembers this one if it was not among them.
---@param call function     core.tokenizer or core.vocab.describe
---@param path string
---@return any? result
---@return (string|ebb.Error)? identity   of the image's file; the problem where there is no result
local function check_once(call, path)
  local result, identity = call(path, checked_images().lines())
  if result and identity ~= "" then checked_images().add("sum " .. identity) end
  return result, identity
end

--- The tokenizer of an image that `find` returned; raises why it cannot be used.
---@param path string
---@return ebb.Tokenizer
function vocabularies.open(path)
  local tokenizer, problem = check_once(core.tokenizer, path)
  local hint = problem and problem.code == "damaged" and hints.vocabulary or nil
  return tokenizer or refuse(problem.code, problem.message, hint)
end

--- Reads the description in an image of a vocabulary.
---@param path string
---@return table? description
---@return (string|ebb.Error)? identity   of its file; the problem where there is no description
function vocabularies.describe(path)
  return check_once(core.vocab.describe, path)
end

--- Reads all of an image, 15 ms a MB: checks that its tables agree, and returns its tokens as a .tiktoken file.
---@param path string
---@return string? digest       SHA-256
---@return ebb.Error? problem
function vocabularies.verify(path)
  local good, digest, identity = core.vocab.verify(path)
  if not good then return nil, digest end
  checked_images().add(("source %s %s"):format(identity, digest))
  return digest
end

--- True if the tables of an image agree and its tokens are those of a .tiktoken file.
---@param path string
---@param identity string    of the image's file
---@param source string      SHA-256 of the .tiktoken file
---@return boolean
function vocabularies.is_made_of(path, identity, source)
  return checked_images().has(("source %s %s"):format(identity, source)) or vocabularies.verify(path) == source
end

--- A tokenizer for an encoding; raises {code = "unknown_name"} where there is none.
---@param encoding string
---@return ebb.Tokenizer
function vocabularies.tokenizer(encoding)
  if type(encoding) ~= "string" then refuse("argument", "an encoding is the name of a vocabulary, a string") end
  local path = vocabularies.find(encoding)
  local tokenizer = path and vocabularies.open(path)
  return tokenizer or refuse("unknown_name", ("unknown encoding '%s'"):format(encoding), hint_for(encoding))
end

return vocabularies
