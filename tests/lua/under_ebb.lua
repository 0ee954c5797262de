--- Runs specs inside the command itself, so that its sanitizers watch the binding:
--
--     build/small/ebb run tests/lua/under_ebb.lua -- tests/lua

package.path = package.path .. ";/usr/share/lua/5.4/?.lua;/usr/share/lua/5.4/?/init.lua"
table.insert(arg, 1, "--ignore-lua")   -- .busted names lua5.4, which would take the command's place
-- Busted forgets after each file what it has loaded. `ebb` stays, so what it refers to stays loaded, too.
local ebb = require "ebb"
for _, name in ipairs { "macros", "rules", "workflow", "session" } do
  assert(ebb[name])
end
require "ebb.session.tail"

require "busted.runner" { standalone = false }
