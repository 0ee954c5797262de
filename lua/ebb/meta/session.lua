---@meta
--- Sessions: conversations on disk. A session has all methods of a conversation; those that edit it commit what they
--- changed in one transaction before they return. Edits that the database refuses return nil and an error, and have
--- changed nothing: {code = "conflict", actual = version} if another process was faster, "io" for the disk or a lock,
--- "read_only", "limit".
---
--- Opening a session with 4,096 stored messages and more reads the last ones only. These, `#session`,
--- `session[i]` and `session:recent(n)` near its end, `session:stats()`, `session:append` and
--- `session:truncate { keep_last = n }` need no more. If that was all that is visible, neither do `insert`, `replace`,
--- `clear`, `truncate`, a trim by keep_recent, and `tokens`, `trust`, `count`, `range`, `where`, `marked`, `shows`,
--- `check`, `dialect`. Anything else reads all of it first, in the version that was opened, and raises the database's
--- error if that fails: "conflict", if another process has replaced what was not read, as by `prune` or `forget`;
--- `session:refresh()` reads what it wrote.

---@class ebb.SessionOptions
---@field create? boolean      begin the session, and make the database, where there is none; default true
---@field relaxed? boolean     a commit does not wait for the disk; default false
---@field wait? integer        ms, for locks of other programs; default 10000
---@field conversation? ebb.ConversationOptions

---@class ebb.Session: ebb.Conversation
---@field name string
---@field version integer      commits so far
---@field chat ebb.Conversation   what is on disk, for reading; edits of it are refused by the next edit of the session
---@field store ebb.Store
local Session = {}
--- Makes all edits of a function one commit, all or none; they are those of the conversation that it gets. If it
--- raises, nothing is written. `session:edit(function(chat) chat:append(a) chat:trim { budget = 900 } end)`
---@param run fun(chat: ebb.Conversation): ...
---@param options? { retries?: integer, operation?: string }   retries: edits again after a conflict; operation:
---an id of this edit, with which a second try after a lost answer changes nothing
---@return any ...             what the function returns; or nil and an error
function Session:edit(run, options) end
--- Begins an edit that `commit` ends.
---@return ebb.Conversation branch
function Session:begin() end
--- Writes a branch of `begin`. Where nothing changed nothing is written, and the version stays.
---@param branch ebb.Conversation
---@param options? { operation?: string }
---@return integer? version
---@return ebb.Error? problem
function Session:commit(branch, options) end
--- Goes on with another conversation in a branch of `begin`, such as one in another provider's form: its visible
--- messages take the place of those that the branch shows, in new batches, and what is around them in its file,
--- such as tools and a model, that of the session's. Earlier batches stay: rolling back to one gives its messages,
--- not what was around them. Windows stay, too, though no item shows them.
---@param branch ebb.Conversation
---@param chat ebb.Conversation
function Session:put(branch, chat) end
--- Replaces all that the session has by a conversation: its messages, batches, marks and windows.
---@param chat ebb.Conversation
---@return true? done
---@return ebb.Error? problem
function Session:adopt(chat) end
--- Reads what other processes wrote.
---@return boolean? changed
---@return ebb.Error? problem
function Session:refresh() end
--- Waits until another process has committed to the session, and reads what it wrote. PostgreSQL tells of commits; of
--- SQLite's the version is read every 10 ms. `while true do if session:wait(60000) then answer(session) end end`
---@param ms integer           at most; 0 to 2147483647
---@return boolean? changed    false: the time is over
---@return ebb.Error? problem
function Session:wait(ms) end
--- A new session with all that this one has; they share their messages in the database.
---@param name string
---@return ebb.Session? branch
---@return ebb.Error? problem
function Session:branch(name) end
--- Gives the session another name.
---@param name string
---@return true? done
---@return ebb.Error? problem
function Session:rename(name) end
--- Asks to be the only writer for a time, and reads what others wrote; PostgreSQL only. Writers that ask take turns;
--- those that do not ask are not hindered. A writer that slept for longer than its lease gets a conflict once another
--- one has taken the session over.
---@param ms integer           from now; asking again makes it longer
---@return boolean? has_it     false: another writer has it
---@return integer|ebb.Error|nil left   with false: for so many ms still; with nil: why not
function Session:lease(ms) end
--- Gives up the lease before its end.
---@return true? done
---@return ebb.Error? problem
function Session:release() end
--- Closes the session, and the database, if `ebb.session` opened it. Every edit is on disk before.
function Session:close() end

---@class ebb.StoreSessionOptions
---@field create? boolean      begin the session where there is none; default true
---@field conversation? ebb.ConversationOptions

---@class ebb.StoreOptions
---@field create? boolean      make the database where there is none; default true
---@field relaxed? boolean     as of a session
---@field salvage? boolean     read what is left of a damaged file of SQLite; nothing is written; default false
---@field wait? integer        ms, for locks of other programs; default 10000

---@class ebb.SessionInfo
---@field id integer
---@field name string
---@field version integer      commits so far
---@field messages integer     visible ones, at the last commit
---@field tokens integer       of them, as they were counted then
---@field stored integer       messages ever
---@field batches integer
---@field created integer      ms since 1970
---@field changed integer      the same
---@field origin? integer      id of the session it is a branch of
---@field shared? integer      the seqs up to this one are the origin's

---@class ebb.Store            A database of sessions
---@field place string         the path; a URL without user, password and options
local Store = {}
--- Lists all sessions, by name.
---@return ebb.SessionInfo[]? infos
---@return ebb.Error? problem
function Store:list() end
--- Returns what the store knows of one session.
---@param name string
---@return ebb.SessionInfo? info
---@return ebb.Error? problem  code: "absent"
function Store:find(name) end
--- A session of this store, on its connection. Closing it does not close the store.
---@param name string
---@param options? ebb.StoreSessionOptions
---@return ebb.Session? session
---@return ebb.Error? problem  code: "absent"
function Store:session(name, options) end
--- Makes all that a function writes to sessions of this store one transaction, with one sync of the disk in the place
--- of one for each edit: new sessions, edits, branches, names. All of it is on disk when `together` returns, or nothing
--- is: where the function raises, or returns nil and an error, and where the disk refuses or the process dies.
--- `store:together(function() for _, name in ipairs(names) do store:session(name):append(message) end end)`
---
--- In the function each edit is done or refused as ever, and later calls see it; one that is refused leaves the others
--- as they are, unless the function returns its error; a `forget` that another session refuses undoes all. Other
--- processes see nothing before the end, and wait if they write: to SQLite at all, to PostgreSQL if it is to the same
--- sessions. So keep it short: no model, no waiting. Leases, waits and upkeep are refused in it, and so is another
--- `together`. After "io" all of it may be on disk, as a single edit's answer may be lost: edits with operation ids can
--- be repeated.
---@param run fun(store: ebb.Store): ...
---@return any ...             what the function returns; or nil and an error
function Store:together(run) end
--- Gives a session another name.
---@param from string
---@param to string
---@return true? done
---@return ebb.Error? problem  code: "absent", "duplicate"
function Store:rename(from, to) end
--- Removes a session for good. Its branches keep what they share with it.
---@param name string
---@return true? done
---@return ebb.Error? problem
function Store:remove(name) end
--- A new session with all that another one has.
---@param from string
---@param to string
---@return ebb.SessionInfo? info
---@return ebb.Error? problem
function Store:branch(from, to) end
--- Looks for damage: in the database's pages, and in every row by its checksum.
---@return string[]? faults    none: an empty list
---@return ebb.Error? problem
function Store:check() end
--- Writes the log into the database's main file.
---@param options? { vacuum?: boolean }   vacuum: free room goes back to the system
---@return true? done
---@return ebb.Error? problem
function Store:settle(options) end
--- Writes a consistent copy to a new file while others go on.
---@param path string
---@return true? done
---@return ebb.Error? problem  code: "duplicate": there is such a file; "argument" for PostgreSQL, which pg_dump copies
function Store:backup(path) end
--- Names the library that reads and writes the database.
---@return string library      with its version
---@return string warning      what to know about that version; "" for nothing
function Store:describe() end
--- Opens the database again, after a failure of the disk. Where that fails, the next use of the store tries once more.
---@return true? done
---@return ebb.Error? problem
function Store:reopen() end
--- Closes the database; sessions of it can no longer be edited.
function Store:close() end
