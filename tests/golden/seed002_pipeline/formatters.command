# Section 3.2: message-formatters is the group of four, one of which may be configured by itself.
ebb processors message-formatters | grep ' (.*): '
ebb pipeline turns.json --model-config formatters.json --encoding bytes4 -q
