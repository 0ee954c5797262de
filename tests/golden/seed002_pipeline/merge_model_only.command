# Section 4.3: only the model configures a processor.
ebb pipeline turns.json --model-config model.json --encoding bytes4 -q
