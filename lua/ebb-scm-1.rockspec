-- The Lua module, for LuaRocks: `luarocks make lua/ebb-scm-1.rockspec` in a checkout,
-- with PCRE2 and make at hand. tests/lua/rockspec_spec.lua holds the list against the files.
rockspec_format = "3.0"
package = "ebb"
version = "scm-1"
source = { url = "." }
description = {
  summary = "Conversations with language models, and what the model sees of them",
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
build = {
  type = "command",
  build_command = "make build/lua/ebb/core.so",
  install = {
    lib = { ["ebb.core"] = "build/lua/ebb/core.so" },
    lua = {
      ["ebb.init"] = "lua/ebb/init.lua",
      ["ebb.models"] = "lua/ebb/models.lua",
      ["ebb.nodes.context_processor"] = "lua/ebb/nodes/context_processor.lua",
      ["ebb.nodes.filter"] = "lua/ebb/nodes/filter.lua",
      ["ebb.nodes.init"] = "lua/ebb/nodes/init.lua",
      ["ebb.nodes.script"] = "lua/ebb/nodes/script.lua",
      ["ebb.nodes.trim"] = "lua/ebb/nodes/trim.lua",
      ["ebb.policies.clear_tool_uses"] = "lua/ebb/policies/clear_tool_uses.lua",
      ["ebb.policies.filter"] = "lua/ebb/policies/filter.lua",
      ["ebb.policies.init"] = "lua/ebb/policies/init.lua",
      ["ebb.policies.keep_recent"] = "lua/ebb/policies/keep_recent.lua",
      ["ebb.policies.keep_turns"] = "lua/ebb/policies/keep_turns.lua",
      ["ebb.policies.memory"] = "lua/ebb/policies/memory.lua",
      ["ebb.policies.parts"] = "lua/ebb/policies/parts.lua",
      ["ebb.policies.prune_messages"] = "lua/ebb/policies/prune_messages.lua",
      ["ebb.policies.quota"] = "lua/ebb/policies/quota.lua",
      ["ebb.policies.replay"] = "lua/ebb/policies/replay.lua",
      ["ebb.policies.stable_prefix"] = "lua/ebb/policies/stable_prefix.lua",
      ["ebb.policies.summarize"] = "lua/ebb/policies/summarize.lua",
      ["ebb.policies.summary"] = "lua/ebb/policies/summary.lua",
      ["ebb.policies.supersede"] = "lua/ebb/policies/supersede.lua",
      ["ebb.policies.trim"] = "lua/ebb/policies/trim.lua",
      ["ebb.policies.trim_messages"] = "lua/ebb/policies/trim_messages.lua",
      ["ebb.support.alignment"] = "lua/ebb/support/alignment.lua",
      ["ebb.support.blame"] = "lua/ebb/support/blame.lua",
      ["ebb.support.core"] = "lua/ebb/support/core.lua",
      ["ebb.support.difference"] = "lua/ebb/support/difference.lua",
      ["ebb.support.log"] = "lua/ebb/support/log.lua",
      ["ebb.support.model_check"] = "lua/ebb/support/model_check.lua",
      ["ebb.support.operations"] = "lua/ebb/support/operations.lua",
      ["ebb.support.options"] = "lua/ebb/support/options.lua",
      ["ebb.support.refuse"] = "lua/ebb/support/refuse.lua",
      ["ebb.support.repair"] = "lua/ebb/support/repair.lua",
      ["ebb.support.script_file"] = "lua/ebb/support/script_file.lua",
      ["ebb.support.script_path"] = "lua/ebb/support/script_path.lua",
      ["ebb.support.state"] = "lua/ebb/support/state.lua",
      ["ebb.support.suggest"] = "lua/ebb/support/suggest.lua",
      ["ebb.support.vocabularies"] = "lua/ebb/support/vocabularies.lua",
      ["ebb.support.whole"] = "lua/ebb/support/whole.lua",
    },
  },
}
