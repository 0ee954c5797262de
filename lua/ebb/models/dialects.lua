--- The dialects of request bodies that models may be declared with; the core has rules for
--- openai and anthropic, pipelines write openai.

return { "openai", "responses", "anthropic", "gemini" }
