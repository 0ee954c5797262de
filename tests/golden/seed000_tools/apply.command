# The same at the command line; applied twice, the description is there once.
ebb apply clear_all.operations.json input.json --tools tools.json --tools-heading '可用工具:' -o $tmp/once.json -q
ebb apply clear.operations.json $tmp/once.json --tools tools.json --tools-heading '可用工具:' -q
