--- Images of vocabularies that were read in full once and found right, remembered from run to run
--- by the identities of their files: a file that was written since has another one.
--
--     sum IDENTITY                its check sum is right
--     source IDENTITY DIGEST      its tables agree, and its tokens are the .tiktoken file with this SHA-256
--
-- The lines are in $XDG_CACHE_HOME/ebb/vocab. Where this file cannot be read or written, images are
-- read in full each time. Who can write it can make ebb trust a damaged image, as who can write the
-- image can.

local BYTES_MAX = 1024 * 1024   -- of a cache that is read
local LINES_MAX = 200           -- that are kept

return require("ebb.support.kept_lines").new("cache", "vocab", { bytes = BYTES_MAX, lines = LINES_MAX })
