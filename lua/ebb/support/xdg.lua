--- The user's folders, as the XDG Base Directory specification has them.
--
--     config   $XDG_CONFIG_HOME/ebb   or ~/.config/ebb
--     data     $XDG_DATA_HOME/ebb     or ~/.local/share/ebb
--     state    $XDG_STATE_HOME/ebb    or ~/.local/state/ebb
--     cache    $XDG_CACHE_HOME/ebb    or ~/.cache/ebb
--
-- Relative values are ignored, as the specification asks.

local xdg = {}

local FALLBACK = { config = "/.config", data = "/.local/share", state = "/.local/state", cache = "/.cache" }

local function absolute(name)
  local path = os.getenv(name)
  return path and path:sub(1, 1) == "/" and path or nil
end

--- The path of a file or folder among the user's; nil without a home. It need not exist.
---@param kind "config"|"data"|"state"|"cache"
---@param name string          below the folder of the kind
---@return string?
function xdg.path(kind, name)
  local home = absolute "HOME"
  local folder = absolute(("XDG_%s_HOME"):format(kind:upper())) or home and home .. FALLBACK[kind]
  return folder and ("%s/ebb/%s"):format(folder, name)
end

return xdg
