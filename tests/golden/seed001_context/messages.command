# Section 7.2: the whole example is a list of messages, which a provider takes.
ebb check messages.json --dialect openai
ebb inspect messages.json --encoding bytes4
