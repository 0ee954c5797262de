# Section 4.3: both do; the agent's entry replaces the model's as a whole.
ebb pipeline turns.json --model-config model.json --encoding bytes4 --agent agent.json -q
ebb pipeline turns.json --model-config model.json --encoding bytes4 --agent agent.json --show-config | grep -A2 'merge\|alternate' | grep -v '^--'
