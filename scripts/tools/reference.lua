--- Writes what can be made from the sources: docs/reference, docs/man/ebb.1 and completions.
--
-- Run: ebb run scripts/tools/reference.lua [FOLDER]
-- in a checkout (`make docs`). The files are written below FOLDER (default: the checkout itself).

local root = arg[0]:match "^(.*)scripts/tools/[^/]*$" or "./"
package.path = root .. "scripts/tools/?.lua;" .. package.path

local reference = require "reference.pages"

local target = arg[1] and arg[1]:gsub("/*$", "/") or root

for _, file in ipairs(reference.files(root)) do
  local path = target .. file.path
  assert(os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/")))
  local out = assert(io.open(path, "wb"))
  assert(out:write(file.text))
  assert(out:close())
end
