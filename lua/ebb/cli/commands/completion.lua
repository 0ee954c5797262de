--- ebb completion: a script that completes the command's words in a shell.

local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"

local completion = {}

local GENERATORS = { bash = "get_bash_complete", zsh = "get_zsh_complete", fish = "get_fish_complete" }

function completion.declare(parser)
  parser:argument("shell", "bash, zsh or fish."):choices { "bash", "zsh", "fish" }
  options.output(parser)
  parser:epilog(options.examples {
    "ebb completion bash > ~/.local/share/bash-completion/completions/ebb",
    "ebb completion zsh > ~/.zfunc/_ebb",
    "ebb completion fish > ~/.config/fish/completions/ebb.fish",
  })
end

function completion.run(args)
  local parser = require("ebb.cli.parser").whole()
  terminal.result(parser[GENERATORS[args.shell]](parser), args.output)
end

return completion
