# Section 2.2: the parts of messages, for this provider; what no request has is told.
ebb convert input.json --to anthropic
