--- The C module. Nothing else in the library requires it, so this is the one
-- place that changes when the core comes to be loaded in another way.

return require "ebb.core"
