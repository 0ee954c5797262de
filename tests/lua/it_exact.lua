--- `it` for tests that expect exact counts: pending, with a word, where the build has no vocabularies (no npm).
--
-- `pending` is looked up when the test runs: busted has another one for files.
--
--     local it_exact = dofile "tests/lua/it_exact.lua"(it, function(why) pending(why) end)

local vocabularies = require "ebb.models.vocabularies"

return function(it, pending)
  return function(name, run)
    it(name, function()
      for _, encoding in ipairs { "cl100k_base", "o200k_base" } do
        if not vocabularies.find(encoding) then return pending(("skipped: %s is not there"):format(encoding)) end
      end
      return run()
    end)
  end
end
