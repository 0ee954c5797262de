# Section 2.2: the parts of messages, read: the call and its result are one unit.
ebb inspect input.json --encoding bytes4
