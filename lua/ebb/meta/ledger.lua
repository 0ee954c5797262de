---@meta
--- Ledgers: what became of which message, by what and why.

---@class ebb.LedgerEntry
---@field action ebb.Action
---@field seq integer
---@field role ebb.Role
---@field by string            the policy or processor
---@field reason string
---@field tokens integer       freed: tokens before less tokens after
---@field replacement? integer seq of what took its place

---@class ebb.Ledger           A list of ebb.LedgerEntry: #ledger, ledger[i], ipairs
local Ledger = {}
---@class ebb.LedgerRun        Neighbours that were dropped for one cause, or one message
---@field action ebb.Action
---@field seq integer          of the first
---@field count integer
---@field by string
---@field reason string
---@field tokens integer       freed by all of them
---@field replacement? integer
--- The entries as runs.
---@return ebb.LedgerRun[]
function Ledger:runs() end
--- The runs as JSON, a run per line.
---@return string
function Ledger:json() end
--- Returns the notes that policies wrote by `draft:note`, in order.
---@return { by: string, text: string }[]
function Ledger:notes() end
--- Returns the messages that only draft:keep held, with the reasons.
---@return { seq: integer, by: string, reason: string }[]
function Ledger:keeps() end
