# Section 4.3: only the agent configures a processor.
ebb pipeline turns.json --agent agent.json -q
