--- ebb.macro: a module of its own, so that a program without it does not load it.

local registry = require "ebb.macros.registry"

--- Adds a macro for all pipelines, inputs and expansions of this program that name no registry of their own; one of
--- the same name gives way.
---@param declaration ebb.MacroDeclaration
return function(declaration)
  registry.built_in():add(declaration)
end
