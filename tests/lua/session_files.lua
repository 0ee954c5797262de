--- Places for the databases of session specs: files, unless a spec was called with other places.

local files = { is_file = true, new = os.tmpname }

--- Removes a database, and what SQLite and Ebb keep next to it.
function files.remove(path)
  for _, rest in ipairs { "", "-wal", "-shm", "-checkpoint" } do os.remove(path .. rest) end
end

--- The places that a spec was called with: new() makes one, remove(place) removes what is there.
---@param given any     what the spec got; not places, where busted called it
function files.places(given)
  return type(given) == "table" and given.new and given or files
end

return files
