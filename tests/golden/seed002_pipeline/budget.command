# Section 3.1: the limiter drops history only, after what is injected and read in is weighed.
ebb pipeline turns.json --agent presets.json --set token-limiter.budget=45 --encoding bytes4
