# Section 5.2: a processor of a plugin: its form, and its place in the pipeline.
ebb processors footer --plugin plugin.lua --json
ebb pipeline turns.json --plugin plugin.lua --set footer.loud=true --set footer.place=above -q
