--- The C module of sessions on disk: in the command it is built in; elsewhere it lies in the file of ebb.core.

local refuse = require "ebb.support.refuse"

local function load_from_core()
  local path = package.searchpath("ebb.core", package.cpath)
  local opener = path and package.loadlib(path, "luaopen_ebb_storage")
  return opener or refuse("absent", "sessions: this build of Ebb has no sessions on disk")
end

local open = package.preload["ebb.storage"] or load_from_core()

return open "ebb.storage"
