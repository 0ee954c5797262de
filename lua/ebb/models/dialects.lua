--- The dialects of requests: those that are read, checked and written.

return { "openai", "responses", "anthropic", "gemini" }
