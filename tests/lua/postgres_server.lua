--- A server of PostgreSQL for specs (tests/postgres.sh): one per spec, an empty schema for each test.

local server = {}

local function shell(words)
  local pipe = assert(io.popen(words))
  local output = pipe:read "a"
  local ok, _, status = pipe:close()
  return ok and output:gsub("%s+$", "") or nil, status
end

--- Starts a server; nil where none is installed. `sync`: commits wait for the disk.
function server.start(sync)
  local folder, status = shell(("FSYNC=%s tests/postgres.sh make"):format(sync and "on" or "off"))
  if not folder then
    assert(status == 3, "the server did not start")
    print "skipped: PostgreSQL's server is not installed"
    return nil
  end
  return setmetatable({ folder = folder, schemas = 0 }, { __index = server })
end

function server:remove() shell("tests/postgres.sh remove " .. self.folder) end
function server:kill() assert(shell("tests/postgres.sh kill " .. self.folder)) end
function server:start_again() assert(shell("tests/postgres.sh start " .. self.folder)) end

--- The URL of a database; `host` is another folder with its socket.
function server:url(schema, host)
  return ("postgresql:///postgres?host=%s&user=ebb&options=-csearch_path%%3D%s"):format(host or self.folder, schema)
end

--- Runs SQL, and returns what it answers, a line for each row.
function server:sql(words)
  local file = os.tmpname()
  local out = assert(io.open(file, "w"))
  out:write(words)
  out:close()
  local result = shell(("psql -h %s -U ebb -qAtX -v ON_ERROR_STOP=1 -f %s postgres"):format(self.folder, file))
  os.remove(file)
  return assert(result, words)
end

--- A new schema, and its URL.
function server:new()
  self.schemas = self.schemas + 1
  local schema = "t" .. self.schemas
  self:sql(("CREATE SCHEMA %s"):format(schema))
  return self:url(schema), schema
end

return server
