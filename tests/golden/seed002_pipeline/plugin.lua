-- Section 5.2: a processor with all fields of its interface but configComponent, which names a page of a program.
return {
  id = "footer", name = "Footer", description = "puts a line behind the last message", priority = 350, icon = "text",
  isCore = false, defaultEnabled = true,
  configFields = {
    { key = "line", label = "Line", type = "text", placeholder = "a few words", default = "Thank you." },
    { key = "times", label = "Times", type = "number", default = 1 },
    { key = "loud", label = "Loud", type = "boolean", default = false },
    { key = "place", label = "Place", type = "select", default = "below",
      options = { { label = "Below", value = "below" }, { label = "Above", value = "above" } } },
  },
  execute = function(context, config)
    local last = context.messages[#context.messages]
    local line = config.line:rep(config.times, " ")
    if config.loud then line = line:upper() end
    last.content = config.place == "below" and last.content .. " " .. line or line .. " " .. last.content
    context:log("info", "a line", { place = config.place })
  end,
}
