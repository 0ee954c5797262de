/*
** Ebb: keeps conversations with language models, and lets Lua scripts decide
** what the model sees of them.
**
**     ebb_runtime   a sandboxed Lua and its policies; several per process, as
**       ebb_chat    many conversations as you like
**       ebb_task    work in slices: a policy or a script on a copy of a chat
**     ebb_vocab     what tokens are counted by; shared by runtimes and threads
**     ebb_policy    a compiled policy; the same
**     ebb_pipeline  an agent: presets, rules and settings that make requests of chats
**
**     ebb_runtime *runtime;
**     ebb_chat *chat;
**     if (ebb_runtime_new(NULL, &runtime) != EBB_OK) return 1;
**     if (ebb_chat_new(runtime, NULL, 0, &chat) == EBB_OK &&
**         ebb_chat_append(chat, message, strlen(message)) == EBB_OK) ...
**     ebb_runtime_free(runtime);
**
** Errors: functions that can fail return an ebb_status. EBB_OK is success; EBB_MORE
** (ebb_step: work is left) and EBB_NONE (there is no event) are not errors either. Every
** other status means that nothing has changed, results included; ebb_last_error says why.
** The library never aborts, exits or prints. A NULL handle, or NULL for a result that is
** not marked "may be NULL", is EBB_ARGUMENT.
**
** Texts: arguments are (pointer, size), UTF-8, need no NUL at the end, and are copied;
** (NULL, 0) is an empty text.
** Results are an ebb_text: they end with a NUL, belong to the runtime, and are valid until
** the next call with that runtime or with one of its chats or tasks. Names are C strings.
** All results are UTF-8: in errors, events, reports and the log, U+FFFD replaces other
** bytes of scripts and names.
**
** Callbacks must return: no longjmp and no C++ exception may leave them, or the runtime
** stays busy for ever. A call from a callback is EBB_BUSY, and functions that free do
** nothing. Calls that only read are the exception (ebb_chat_count, _tokens, _batch,
** _batch_count, _message, _messages, _json, _batches, ebb_next_chat, ebb_next_task,
** ebb_next_timer): they work for any chat, from every callback but `allocate` and `release`.
** They do not show what a running script has done to its copy. Their results are valid until
** the next of them, or until the callback returns.
**
** Threads: one thread at a time uses a runtime, its chats and its tasks; only ebb_cancel
** and ebb_task_stop may be called from any thread. Different runtimes share nothing but
** vocabularies and compiled policies, which never change. The library starts no threads.
** A thread that uses it needs a C stack of at least 1 MiB; 2 MiB leave room for the host.
**
** Scripts: each has globals of its own, with libraries, modules and the host's
** functions; neither other scripts nor the library see what it changes there. All scripts
** of a runtime share its memory and its random numbers. `require "ebb"` gives them json
** (json.array {}: an empty list) and null, as in the command, so that a policy runs in both.
**
** Locale: setlocale does not affect the library. Numbers have a decimal point, in JSON and
** in scripts: a thread is in the C locale (uselocale) while scripts run. Callbacks run in
** the thread's own locale, except allocate, clock_ms and the functions of ebb_lua.h.
**
** Memory: all of it comes from the allocator of the config, also that of Lua and of PCRE2
** (used for vocabularies with expressions of their own).
**
** JSON has camelCase names, positions from 0, half-open ranges. What scripts return and
** ask for keeps the names that they gave it.
**
** Systems: 64-bit only.
*/
#ifndef EBB_H
#define EBB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define EBB_API __attribute__((visibility("default")))
#else
#define EBB_API
#endif

/* ---- versions ---- */

/* Of this header: EBB_VERSION_NUMBER is 1000000 * major + 1000 * minor + patch. */
#define EBB_VERSION        "0.1.0"
#define EBB_VERSION_MAJOR  0
#define EBB_VERSION_MINOR  1
#define EBB_VERSION_PATCH  0
#define EBB_VERSION_NUMBER (1000000 * EBB_VERSION_MAJOR + 1000 * EBB_VERSION_MINOR + EBB_VERSION_PATCH)

/* Grows by one when functions or fields are added. Programs and libraries of different
   versions work together: structs say how large they are (`size`), and fields are only
   added at their ends. A field that only the program's header has must be 0 in a config
   (else EBB_UNKNOWN_VERSION), and is set to 0 in a result. An incompatible change gets a new
   soname. */
#define EBB_API_VERSION 2

/* Of the library at run time. */
EBB_API uint32_t    ebb_api_version(void);
EBB_API const char *ebb_version(void);         /* "0.1.0"; static */

/* ---- how calls end ---- */

typedef enum ebb_status {
  EBB_OK = 0,
  EBB_MORE,            /* ebb_step: the budget is spent, and there is work left */
  EBB_NONE,            /* ebb_next_event: nothing has happened */
  EBB_MEMORY,          /* an allocation failed, or a memory limit was reached */
  EBB_ARGUMENT,        /* a value is missing or not allowed */
  EBB_UNKNOWN_NAME,    /* no such policy, option, encoding, model, operation ... */
  EBB_OUT_OF_RANGE,    /* no such position, batch or message; a number beyond what is allowed */
  EBB_LIMIT,           /* over a cap: bytes, depth, sums */
  EBB_SYNTAX,          /* not JSON, or options in which a name stands twice; a script that is not Lua */
  EBB_ENCODING,        /* not UTF-8 */
  EBB_SHAPE,           /* JSON, or Lua, but not what was expected */
  EBB_ROLE,            /* an unknown role */
  EBB_DUPLICATE,       /* a key of a message stands twice; a name that must be unique exists already */
  EBB_ABSENT,          /* the host's `read` does not have it */
  EBB_IO,              /* the host's `read` failed */
  EBB_CANNOT_FIT,      /* trim: the guarded messages alone are over the budget */
  EBB_OVER_BUDGET,     /* trim: the policy left more than the budget */
  EBB_POLICY,          /* the policy failed; the message has file:line */
  EBB_SCRIPT,          /* a script failed; the message has file:line */
  EBB_MODEL,           /* a model gave no answer that could be used */
  EBB_FUEL,            /* a script used up its fuel */
  EBB_DEADLINE,        /* a script ran longer than its deadline */
  EBB_CANCELLED,       /* ebb_cancel, ebb_task_cancel */
  EBB_CONFLICT,        /* the chat was changed while a task worked on its copy */
  EBB_BUSY,            /* the runtime is at work: called from one of its callbacks */
  EBB_UNKNOWN_VERSION, /* a config, or a saved chat, of a version that this library does not know */
  EBB_DAMAGED,         /* a saved chat that contradicts itself, or its digest */
  EBB_RANGE = EBB_OUT_OF_RANGE         /* an older name */
} ebb_status;

/* The constant's name in lower case, without EBB_: "ok", "out_of_range"; "unknown" for other
   values. Errors in scripts have the same words as codes. Static. */
EBB_API const char *ebb_status_name(ebb_status status);

typedef struct ebb_runtime ebb_runtime;
typedef struct ebb_chat ebb_chat;
typedef struct ebb_task ebb_task;
typedef struct ebb_vocab ebb_vocab;
typedef struct ebb_policy ebb_policy;
typedef struct ebb_pipeline ebb_pipeline;

typedef struct ebb_text {
  const char *bytes;   /* never NULL after a call that succeeded; a NUL stands behind the last */
  size_t size;
} ebb_text;

/* An unlimited amount of microseconds or fuel. In calls that take an amount, 0 means none at all; in
   ebb_config and ebb_task_limit 0 is the default. */
#define EBB_NO_LIMIT ((uint64_t)-1)

/* ---- runtimes ---- */

typedef enum ebb_log_level { EBB_LOG_PRINT, EBB_LOG_WARNING } ebb_log_level;

/* Receives the bytes that ebb_config.read reads, and the result of a host function.
   ebb_sink_add: EBB_LIMIT if it would hold more than allowed; EBB_MEMORY. */
typedef struct ebb_sink ebb_sink;
EBB_API ebb_status ebb_sink_add(ebb_sink *sink, const void *bytes, size_t size);

/* Takes a text in pieces, each valid during the call; used by functions whose names end in
   _to, which need no memory for the text. If it returns a status other than EBB_OK, the
   function stops, changes nothing and returns that status; the pieces so far are incomplete.
   Of this runtime it may only read chats ("Callbacks" above). */
typedef ebb_status (*ebb_write)(void *user, const void *bytes, size_t size);

/*
** Settings of a new runtime. Set `size`, and leave all other fields that are not needed
** at zero: zero is the default everywhere.
**
**     ebb_config config = {.size = sizeof config, .user = my_game, .log = my_log};
**     ebb_config config = {}; config.size = sizeof config;          (C++ before 20)
*/
typedef struct ebb_config {
  size_t size;               /* sizeof (ebb_config), as the caller was compiled */
  /* Like realloc with the block's size: (NULL, 0, n) allocates, (block, n, m) resizes (on
     failure the block stays; shrinking must not fail), (block, n, 0) frees. Blocks are
     aligned as by malloc. NULL: malloc. */
  void *(*allocate)(void *user, void *block, size_t old_size, size_t new_size);
  void *user;                /* handed to all functions here */
  int64_t (*clock_ms)(void *user);       /* milliseconds since 1970, for batches and dates. NULL: the system's */
  /* Receives what scripts print and the library's warnings, one line per call, without its
     newline, ending with a NUL. A call or task prints 1 MiB at most, then a line says so. What
     scripts print may hold control characters: escape them before a terminal shows them. NULL:
     they are dropped. */
  void (*log)(void *user, ebb_log_level level, const char *line, size_t size);
  /* The only way in which the library reads anything:
       "my/tools.lua"            modules that scripts require ("my.tools")
       "mods/oldest.lua"         policies that a name ending in .lua asks for
       "vocab/o200k_base.vocab"  the vocabulary of an encoding, or of a model's, as
                                 `make install` puts it into share/ebb. It is asked
                                 for when the first chat needs it, copied, summed up
                                 (15 MB: about 10 ms, not in slices) and kept to the
                                 runtime's end. ebb_vocab copies nothing, and comes
                                 before this. Absent: an encoding is EBB_UNKNOWN_NAME,
                                 a model's messages are counted by estimate
     Puts the bytes into the sink and answers EBB_OK; EBB_ABSENT when there is no
     such thing, EBB_IO when it cannot be read. Names are made of letters, digits,
     '_', '-', single dots and slashes within, and are relative. NULL: everything
     is absent. */
  ebb_status (*read)(void *user, const char *name, ebb_sink *sink);
  uint64_t seed;             /* of random numbers in scripts: the same seed, the same numbers */
  /* Not 0: results do not depend on the speed of the machine. Only fuel ends a slice or a
     script, and clock_ms, which must be set, is the only clock. Scripts see nothing of the
     collector: collectgarbage "count" raises, and weak values stay. Fuel counts instructions,
     whatever they cost: a hostile script can find some that take a thousand times as long
     (comparing long strings); then only ebb_cancel from another thread stops it sooner. */
  int deterministic;
  size_t memory_limit;       /* bytes that the runtime may hold in all; 0: no limit */
  size_t script_memory;      /* bytes of the Lua state; 0: 64 MiB. No string or part of a table in it is larger
                                than 4 MiB, whatever is set here: EBB_MEMORY for scripts that need one */
  size_t chat_memory;        /* bytes of one chat and its forks together; 0: no limit. ebb_chat_apply,
                                ebb_chat_trim and ebb_chat_compact, which can free memory, may exceed it
                                by an eighth while they run */
  uint64_t fuel;             /* for one call or task, in units of about a VM instruction (5 ns); 0: 200,000,000 */
  uint64_t deadline_us;      /* running time of one call or task; 0: 2,000,000. It also bounds the keys of a table
                                that is not a list: 65,536 with 2,000,000, twice as many with four times the time */
  /* Since API version 2. ebb_runtime_new and ebb_vocab_new, which have no handle for
     ebb_last_error yet, write here why they failed: UTF-8, cut to error_size bytes with its
     NUL. Used during that call only. NULL: the text is dropped. */
  char *error;
  size_t error_size;
  size_t message_limit;      /* bytes of the JSON of one message that is appended or read; 0: 16 MiB */
} ebb_config;

/* A new runtime; config may be NULL. EBB_UNKNOWN_VERSION: its size is not set, or a field is
   set that this library does not know; EBB_ARGUMENT, EBB_MEMORY. */
EBB_API ebb_status ebb_runtime_new(const ebb_config *config, ebb_runtime **runtime);
/* Frees it with all its chats and tasks; NULL is allowed. Not from a callback. */
EBB_API void       ebb_runtime_free(ebb_runtime *runtime);
EBB_API size_t     ebb_runtime_memory(const ebb_runtime *runtime);      /* bytes that it holds now */
/* Collects the garbage of scripts for about so many microseconds (EBB_NO_LIMIT: all of it),
   at a time that suits the host. Also frees the texts that calls have returned, so they
   become invalid. *done (may be NULL): 1 if a cycle of the collector was completed. */
EBB_API ebb_status ebb_collect(ebb_runtime *runtime, uint64_t microseconds, int *done);

/* Why the last failed call of this runtime failed; valid until the next call. Never NULL;
   needs no memory, so a long message is cut. */
typedef struct ebb_error {
  ebb_status status;
  const char *code;          /* "cannot_fit"; finer than the status for scripts' own errors */
  const char *message;       /* with file:line where there is one, and a hint if there is one */
} ebb_error;

EBB_API const ebb_error *ebb_last_error(const ebb_runtime *runtime);

/* Stops the script that runs, and what runs next, with EBB_CANCELLED, until
   ebb_uncancel. From any thread, while the runtime lives. */
EBB_API void       ebb_cancel(ebb_runtime *runtime);
EBB_API void       ebb_uncancel(ebb_runtime *runtime);

/* ---- vocabularies ----
**
** Counts are exact by the vocabulary of a model's encoding: an image of 8 to 15 MB.
** Any number of runtimes, in any threads, count by one image, of which nothing is
** copied:
**
**     void *bytes = mmap(... "share/ebb/vocab/o200k_base.vocab" ...);
**     ebb_vocab_new(NULL, bytes, size, unmap, &vocab);
**     ebb_runtime_add_vocab(runtime, NULL, vocab);      for each runtime
**     ebb_vocab_free(vocab);                            unmap comes with the last runtime
*/

/* Releases an image: called once, by the thread that released the last reference to the
   vocabulary. It must not call the library. `user` is the config's. */
typedef void (*ebb_release)(void *user, const void *bytes, size_t size);

/* A vocabulary over an image, which stays the host's: readable, unchanged and aligned to 8
   bytes until `release` is called (may be NULL: then until the handle and all runtimes that
   have the vocabulary are freed). A mapped file must not be cut short meanwhile: replace
   such files, do not write into them.
   Of the config `allocate` and `user` are used (NULL: malloc), by every thread that gives up
   a share: about 400 bytes. Checks the header and that each table lies within the image:
   a few pages are read, whatever the size. Tables are not read: a damaged one gives wrong
   counts, which are called exact all the same, and nothing else. The host answers for its
   bytes: ebb_vocab_verify finds damages, once for a file is enough. (Images that come from
   `read` are summed up each time, and refused when damaged.)
   EBB_SYNTAX: no image, a damaged header, or of another version or byte order;
   EBB_ARGUMENT: NULL or not aligned; EBB_UNKNOWN_VERSION (of the config), EBB_MEMORY. On
   failure `release` is not called. */
EBB_API ebb_status ebb_vocab_new(const ebb_config *config, const void *bytes, size_t size, ebb_release release,
                                 ebb_vocab **vocab);
/* Releases the host's reference; runtimes keep theirs. NULL is allowed. */
EBB_API void       ebb_vocab_free(ebb_vocab *vocab);
/* The encoding, "o200k_base", as the image says; valid as long as the share. "" for NULL. */
EBB_API const char *ebb_vocab_name(const ebb_vocab *vocab);
/* Reads all of it, some 15 ms a MB: EBB_SYNTAX if anything in it contradicts another part.
   From any thread. */
EBB_API ebb_status ebb_vocab_verify(const ebb_vocab *vocab);
/* From now on chats of the runtime, of this encoding (NULL: the image's own name) or of a
   model that has it, are counted by it. The runtime keeps a share to its end; what it
   remembers of counts is its own. Several threads may add one vocabulary to their runtimes
   at once. EBB_DUPLICATE: it has one of this name, added or read; EBB_ARGUMENT: no name of
   an encoding, or an estimator's; EBB_MEMORY. */
EBB_API ebb_status ebb_runtime_add_vocab(ebb_runtime *runtime, const char *name, ebb_vocab *vocab);

/* ---- counting texts; models ---- */

/* Tokens of a plain text, by an encoding ("o200k_base", or an estimator: "bytes4", "cjk", "claude",
   "claude_4_7", "utf16_2_5"), or by a model's. *trust (may be NULL): "exact", or "estimated", also where
   a model's vocabulary is absent; static. EBB_ENCODING: not UTF-8; EBB_UNKNOWN_NAME; EBB_LIMIT: a
   vocabulary's expression takes too long. Not in slices: 1 MB takes some 10 ms. */
EBB_API ebb_status ebb_count_text(ebb_runtime *runtime, const char *counter, const char *text, size_t size,
                                  uint64_t *tokens, const char **trust);
/* The ids of a text, by a vocabulary: the first `room` of them go to ids (NULL with room 0), *count is
   how many there are. */
EBB_API ebb_status ebb_encode_text(ebb_runtime *runtime, const char *encoding, const char *text, size_t size,
                                   uint32_t *ids, size_t room, size_t *count);
/* The text of ids. Its bytes may begin and end within a character. EBB_OUT_OF_RANGE: no such token. */
EBB_API ebb_status ebb_decode_ids(ebb_runtime *runtime, const char *encoding, const uint32_t *ids, size_t count,
                                  ebb_text *bytes);

/* Adds models of the host's, or changes known ones: {"name": {"encoding", "window", "output"?, "dialect"?,
   "image"?: a rule or {"rule", "base"?, "tile"?, "multiplier"?}, "prices"?: {"input", "cachedInput"?,
   "output"}}}: all or none. Fields that are left out stay; null takes a model out. Chats that are made
   later are counted so. EBB_UNKNOWN_NAME, EBB_ARGUMENT, EBB_SHAPE ... */
EBB_API ebb_status ebb_models_add(ebb_runtime *runtime, const char *models, size_t size);
/* All models: [{"name", "encoding", "window", "output", "dialect", "image", "prices"?}]. */
EBB_API ebb_status ebb_models(ebb_runtime *runtime, ebb_text *json);

/* ---- chats ---- */

/* A new chat. Options, a JSON object or nothing: model, encoding, limit (tokens),
   tools [{name, description}], toolsHeading. EBB_UNKNOWN_NAME, EBB_ARGUMENT,
   EBB_SYNTAX, EBB_MEMORY. */
EBB_API ebb_status ebb_chat_new(ebb_runtime *runtime, const char *options, size_t size, ebb_chat **chat);
/* An independent chat that begins with all messages and batches of this one and shares
   them; neither sees what the other adds. Takes O(messages / 4096). */
EBB_API ebb_status ebb_chat_fork(ebb_chat *chat, ebb_chat **fork);
/* NULL is allowed. Tasks that work for it are freed too, with their events. */
EBB_API void       ebb_chat_free(ebb_chat *chat);

/* A new chat from a text in memory: a request body ({"model": .., "messages": [..], ..}), an
   array of messages, or JSONL, told apart by what stands there. What stands around the
   messages of a body is kept, and saved with the chat: ebb_chat_write puts it around those
   that are visible then. Options, a JSON object or nothing: those of ebb_chat_new (model:
   default, for counting, is the body's), and
     roleMap      {"pirate": "user"}: messages of one role are read as of another
     lenient      skips elements that are not messages, repairs texts and keys; what was done is
                  in ebb_chat_query's "warnings"
     maxMessage   bytes of one message; default: message_limit of the config
     maxFile      bytes of an array or a body, default 256 MiB; JSONL has no limit
   EBB_SYNTAX, EBB_ENCODING, EBB_SHAPE, EBB_ROLE, EBB_DUPLICATE, EBB_LIMIT, all with line:byte and
   path; EBB_UNKNOWN_NAME, EBB_ARGUMENT, EBB_MEMORY. */
EBB_API ebb_status ebb_chat_read(ebb_runtime *runtime, const char *text, size_t size, const char *options,
                                 size_t options_size, ebb_chat **chat);
/* The visible messages as a text: a chat that was read in the shape of what was read, with all
   that stood around them, others as an array. Messages that were not edited are written byte for
   byte, the space between them included (after ebb_chat_load: as between the first two); windows
   are written as the messages that ebb_chat_render makes of them. Options, a JSON object or nothing:
     shape        "array" or "jsonl": the messages alone
     repair       true: repaired for the dialect, as by ebb_chat_repair; the chat itself stays as it is
     dialect, calls, codes     of the repair
   Runs within the runtime's limits. EBB_LIMIT: a message would stand more than 256 levels deep. */
EBB_API ebb_status ebb_chat_write(ebb_chat *chat, const char *options, size_t size, ebb_text *text);
EBB_API ebb_status ebb_chat_write_to(ebb_chat *chat, const char *options, size_t size, ebb_write write, void *user);

/* Changes how the chat is counted, and its limit: {"model", "encoding", "limit"}, as in ebb_chat_new;
   what is not named stays, null takes it away, and with a model alone its encoding counts. Its saves
   have the new options; forks stay as they are. Each message is counted once. EBB_UNKNOWN_NAME,
   EBB_ARGUMENT ... */
EBB_API ebb_status ebb_chat_set(ebb_chat *chat, const char *changes, size_t size);
/* What the provider reported for a request with the messages as they are now. Where they are estimated,
   ebb_chat_tokens and budgets are from then on multiplied by reported / counted: the greatest ratio so
   far, never less than 1. EBB_ARGUMENT: the counts are no estimates, or it is more than ten times the
   count. */
EBB_API ebb_status ebb_chat_report_usage(ebb_chat *chat, uint64_t prompt_tokens);

/* What a provider would refuse in the visible list, sent as it is: {"dialect", "violations": [{"code",
   "index", "seq", "text", "hint", "mendable", "severity", "servers", "models", "source"}]}; index and seq are missing
   for the body's other members. dialect: "openai", "responses", "anthropic", "gemini", or NULL: the model's, else
   whose form the messages have. mendable: ebb_chat_repair mends it. EBB_UNKNOWN_NAME. */
EBB_API ebb_status ebb_chat_check(ebb_chat *chat, const char *dialect, ebb_text *json);
/* The visible messages as the body of a request of a dialect, to be sent: "openai", "responses", "anthropic",
   "gemini", or NULL: the model's, else whose form the messages have. Messages of its form go out byte for byte
   but for members that requests do not have; others are written anew, and calls get valid ids. The body that
   was read is kept around them where it is in the dialect. Options, a JSON object or nothing:
     model        in the place of the body's
     profile      name of the server's, as `ebb profiles` lists them
     keepExtra    true: members that requests do not have stay
   *report (may be NULL): {"dialect", "losses": [{"code", "text", "subject", "changed", "index"}]}: what is left
   out, or said in another way (changed); without index it is of the body. Runs within the runtime's limits.
   EBB_UNKNOWN_NAME, EBB_ARGUMENT, EBB_MEMORY; EBB_LIMIT: a message would stand more than 256 levels deep. */
EBB_API ebb_status ebb_chat_request(ebb_chat *chat, const char *dialect, const char *options, size_t size,
                                    ebb_text *body, ebb_text *report);
/* A fork that the provider will take, to be sent (ebb_chat_write); the chat stays as it is. Windows
   are messages in it. Options, a JSON object or nothing:
     dialect      as above
     calls        what becomes of unanswered calls: "drop" (default), or "synthesize" results
     codes        mend these violations only: ["orphan_result", ..]
   *report (may be NULL): {"dialect", "mended", "ledger": [as of a trim], "lost": [calls, results and
   reasoning that are left out, as losses of a request], "left": [violations]}. */
EBB_API ebb_status ebb_chat_repair(ebb_chat *chat, const char *options, size_t size, ebb_chat **fork,
                                   ebb_text *report);

/* Appends a message, or a list of them: all or none. The chat keeps their bytes:
   unknown fields survive. More than message_limit of the config, or more than 255 levels of
   lists and objects, the message itself included, is EBB_LIMIT. Of a text
   beyond 4 MiB (see script_memory) scripts and policies can ask all but the text
   itself: role, tokens, marks; they can keep and drop the message. */
EBB_API ebb_status ebb_chat_append(ebb_chat *chat, const char *json, size_t size);

/* Operations in their JSON form, one or a list, all or none:
   {"operation": "truncate", "keepLast": 5}. Each that starts a batch can be
   rolled back. *results (may be NULL): [{"operation", "affectedBatchIndex"}]. */
EBB_API ebb_status ebb_chat_apply(ebb_chat *chat, const char *json, size_t size, ebb_text *results);

/* Makes a batch current, in its latest state; later ones stay reachable.
   EBB_OUT_OF_RANGE. */
EBB_API ebb_status ebb_chat_rollback(ebb_chat *chat, uint32_t batch);
/* Names the present state; a name used again moves. */
EBB_API ebb_status ebb_chat_checkpoint(ebb_chat *chat, const char *name);
/* Makes the state that a checkpoint names the present one. Where its batch has grown
   since, that is a new batch, its child. EBB_UNKNOWN_NAME. */
EBB_API ebb_status ebb_chat_rollback_to(ebb_chat *chat, const char *checkpoint);
/* Marks, outside the batches; "pinned" is kept by every policy. EBB_OUT_OF_RANGE. */
EBB_API ebb_status ebb_chat_mark(ebb_chat *chat, uint32_t index, const char *name);
EBB_API ebb_status ebb_chat_unmark(ebb_chat *chat, uint32_t index, const char *name);

/* Overwrites the text of a visible message for good, in every batch, fork and task that
   shares it: its role, ids and names of tools stay. Its other versions go with it (what it
   replaced, what replaced it), notes and summaries that trims and filters inserted after it
   was stored, and all that policies remember, for they may quote it; reasons, notes and
   descriptions with a word of it become "[forgotten]". EBB_OUT_OF_RANGE, EBB_MEMORY. */
EBB_API ebb_status ebb_chat_forget(ebb_chat *chat, uint32_t index);
/* Removes all batches except the newest `keep`, the current one and those with a
   checkpoint, then every message that no remaining batch shows, and frees their memory;
   forks keep theirs. Seqs do not change. Takes O(all messages and batches), and while it
   runs memory for a copy of what remains. *removed (may be NULL): number of messages
   removed. Batches keep their numbers; those that were removed cannot be rolled back to
   (EBB_OUT_OF_RANGE), and ebb_chat_batches marks them. Tasks that began before and edit lists
   end with EBB_CONFLICT. EBB_MEMORY. */
EBB_API ebb_status ebb_chat_compact(ebb_chat *chat, uint32_t keep, uint32_t *removed);
/* Bytes that the chat and its forks hold together, without what scripts hold for them. */
EBB_API size_t     ebb_chat_memory(const ebb_chat *chat);

/* The chats of a runtime in the order in which they were made: the one behind `after`
   (NULL: the first); NULL at the end. */
EBB_API ebb_chat  *ebb_next_chat(const ebb_runtime *runtime, const ebb_chat *after);
/* A pointer for the host's use; NULL at first, also in forks. */
EBB_API void      *ebb_chat_user(const ebb_chat *chat);
EBB_API void       ebb_chat_set_user(ebb_chat *chat, void *user);

/* Number of visible messages; 0 for a NULL chat. */
EBB_API uint32_t   ebb_chat_count(const ebb_chat *chat);
/* Tokens of a request with the visible messages, without windows, framing included;
   calibrated by reported usage (ebb_chat_report_usage), as budgets and trim reports are. */
EBB_API uint64_t   ebb_chat_tokens(const ebb_chat *chat);
EBB_API uint32_t   ebb_chat_batch(const ebb_chat *chat);         /* the current one; they count from 0 */
EBB_API uint32_t   ebb_chat_batch_count(const ebb_chat *chat);

/* One visible message. The caller sets `size`. Texts as all others; `text` is the
   content's, text parts and tool arguments joined by newlines. */
typedef struct ebb_message {
  size_t size;
  uint32_t seq;              /* 1, 2, 3 ... in the order in which messages came; never used again */
  uint32_t tokens;
  const char *role;          /* "system", "user", "assistant", "tool", for items "window"; static */
  int has_timestamp;
  int64_t timestamp;         /* ms since 1970, if has_timestamp */
  ebb_text text;
  ebb_text json;             /* the bytes that were appended or read */
  /* Since API version 2. */
  ebb_text id, name;         /* empty: it has none */
  ebb_text marks;            /* ["pinned"], in the order in which the chat got these names */
  ebb_text calls;            /* [{"id"?, "name", "arguments"}]; arguments as text, of JSON mostly */
  uint32_t origin;           /* the seq of the first message that it stands for: replacing keeps marks by it */
  uint32_t partial;          /* 1: of a stream that is not settled: seq, tokens and origin are 0 */
} ebb_message;

EBB_API ebb_status ebb_chat_message(ebb_chat *chat, uint32_t index, ebb_message *message);
/* Fills an array with the messages from `first` on, as many as there are (an open stream's
   is the last) and have room;
   *count: how many. messages[0].size says the size of each. All their texts are valid at
   once. EBB_OUT_OF_RANGE: first is beyond the count. */
EBB_API ebb_status ebb_chat_messages(ebb_chat *chat, uint32_t first, uint32_t room, ebb_message *messages,
                                     uint32_t *count);

/* ---- streamed answers ----
**
** A message that grows while a model answers. Until it is settled it can be read, as the
** message behind the last one (ebb_chat_message with the index ebb_chat_count, partial is 1),
** and nothing else knows of it: counts, tokens, JSON, saves, digests, forks, trims, scripts and
** tasks, whose edits meanwhile it does not hinder. Settling appends it behind what is there
** then, as ebb_chat_append does. Freeing the chat drops it. A chat has one stream at a time.
**
**     begin {"role": "assistant"}  --add "Up the " --add "stairs."  --settle-->  a message
**                                                                   \--drop-->  nothing
*/

/* json: the message; its content is nothing, null or the text that it begins with.
   EBB_DUPLICATE: a stream is open; EBB_SHAPE, EBB_ROLE and the others of ebb_chat_append. */
EBB_API ebb_status ebb_chat_stream_begin(ebb_chat *chat, const char *json, size_t size);
/* Adds text, plain UTF-8. It may end within a character that the next piece completes; that
   is not read yet. EBB_ENCODING, EBB_LIMIT (of a message's bytes), EBB_MEMORY: the stream is
   as it was; EBB_ARGUMENT: none is open. */
EBB_API ebb_status ebb_chat_stream_add(ebb_chat *chat, const char *text, size_t size);
/* Makes it a message. json (may be NULL): takes the place of that of the beginning, for what
   only the end tells, as tool_calls; its content is nothing or null. On failure the stream is
   open still: EBB_ENCODING (the text ends within a character), EBB_MEMORY ... */
EBB_API ebb_status ebb_chat_stream_settle(ebb_chat *chat, const char *json, size_t size);
/* Drops the stream; allowed without one. Does nothing in a callback. */
EBB_API void       ebb_chat_stream_drop(ebb_chat *chat);

/* The visible messages as a JSON array, the bytes of each as they came; without items
   of windows, which ebb_chat_render makes messages. EBB_LIMIT: a line of JSONL that was read
   has 256 levels, and would have 257; chats with such messages are saved and loaded all the same. */
EBB_API ebb_status ebb_chat_json(ebb_chat *chat, ebb_text *json);
EBB_API ebb_status ebb_chat_json_to(ebb_chat *chat, ebb_write write, void *user);
/* [{"index", "parent", "parentLength", "operation", "description", "timestamp", "messageCount", "name"?,
   "nameLength"?, "removed"?}]; name: the newest checkpoint in it, nameLength: the messages of its state;
   removed: true where ebb_chat_compact removed its list */
EBB_API ebb_status ebb_chat_batches(ebb_chat *chat, ebb_text *json);

/* ---- listeners ---- */

enum {
  EBB_CHANGED_MESSAGES = 1,      /* the visible list: appended to, or of another batch */
  EBB_CHANGED_BATCH = 2,         /* a batch was added, or another one is current */
  EBB_CHANGED_WINDOWS = 4,       /* windows were opened, changed or closed */
  EBB_CHANGED_OVER_LIMIT = 8     /* it has passed its limit, and was within it before */
};

/* Called once at the end of each call that changed the chat (also ebb_step, in which tasks end), before
   the call returns. changes: the sum of EBB_CHANGED_ values. It may read chats, as other callbacks;
   anything else is EBB_BUSY. A chat has one listener at most; NULL removes it; forks have none. Each
   call takes O(chats with a listener) longer. `user` must live as long as the listener is set. */
typedef void (*ebb_listener)(void *user, ebb_chat *chat, unsigned changes);
EBB_API ebb_status ebb_chat_listen(ebb_chat *chat, ebb_listener listener, void *user);

/* ---- filters ---- */

/* Loads a filter from the text of its Lua file, as ebb_policy_load does a policy: it returns a function
   of a message, or a table {filter, name, summary, options, check, exact}; the function answers nil or
   true to keep a message, false to drop it, a table to put in its place. */
EBB_API ebb_status ebb_filter_load(ebb_runtime *runtime, const char *name, const char *source, size_t size);
EBB_API ebb_status ebb_filter_unload(ebb_runtime *runtime, const char *name);      /* EBB_UNKNOWN_NAME */
/* Filters the visible list, within the runtime's limits: one batch, or nothing at all. name: of a
   loaded one, or "mods/mine.lua" for the host's `read`; options: a JSON object of the filter's, or
   nothing. (Conditions alone: ebb_chat_apply {"operation": "filter", ..}.) EBB_UNKNOWN_NAME, EBB_ABSENT: `read`
   does not have the file; EBB_SCRIPT, EBB_FUEL, EBB_DEADLINE ... */
EBB_API ebb_status ebb_chat_filter(ebb_chat *chat, const char *name, const char *options, size_t size);

/* ---- queries ---- */

/*
** Answers a question about a chat; question and answer are JSON. Runs within the runtime's limits; the
** chat does not change. EBB_UNKNOWN_NAME: no such query, field, role, checkpoint, encoding;
** EBB_ARGUMENT, EBB_OUT_OF_RANGE, EBB_SYNTAX, EBB_SHAPE, EBB_FUEL, EBB_DEADLINE, EBB_MEMORY.
**
** Messages:
**   {"query": "messages"}                          all that are visible
**   {"query": "where", ..}                         those that pass all conditions: role, name, id (a
**                      text or a list of texts), since, before (ms), marked, matches (a Lua pattern),
**                      window (true or an id), obsolete, important
**   {"query": "recent", "role": .., "n": 1}        the last n of a role, of several, or of all
**   {"query": "range", "role": .., "start": 0, "end": 5}       by their numbers among those of the role, or of all
**   {"query": "marked", "name": "pinned"}
**   {"query": "active"}                            without obsolete items of windows
**   {"query": "all"}                               every message that is stored, by seq
** and with each of these
**   "batch": 2 (or a checkpoint's name), "length": 9           in that state of the chat
**   "slice": {"start": 0, "end": 9}, "first": 3, "last": 3     a part of what was found, in this order
**   "answer": "messages" (default: a list of their bytes), "positions", "seqs", "count", "tokens"
**
** Others, their fields, and what they answer; batch and length as above where they are named:
**   count {role, batch, length}   how many, of a role or several       a number
**   indices {batch, length}    the positions of each role's messages   {"system": [0], "user": [1, 3], ..}
**   tokens {encoding, model, batch, length}    of the request          {"tokens", "trust"}
**   dialect {batch, length}                                            "openai"
**   units     [{"first", "count", "tokens", "role", "open", "pending", "guarded", "age"}]
**   turns     [{"first", "count", "tokens", "age"}]
**   diff {from, to}    of batches, numbers or names; from is needed; to: default, the current one
**             {"added": [messages], "removed": [messages], "replaced": [{"before", "after"}]}
**   ledger {batch, runs}    [{"action", "seq", "role", "by", "reason", "tokens", "replacement"?}], null: the
**             batch has none; runs true: neighbours together, with "count"
**   explain {index} or {seq}    what became of a message: {"action", "by", "reason", "batch", "seq",
**             "replacement", "before", "after", "visible", "events": [..]}
**   recall {name, tokens}    what a handle in the list stands for, "[120 tokens left out: recall r17-42]": name
**             "r17-42"; tokens: most of the text, at least one message, 0 (default): all
**             {"text", "messages": [messages]}; EBB_ABSENT: they are not stored
**   state     {"currentBatch", "messages", "batches", "stats", "results"}
**   stats     {"totalMessages", "currentBatchMessages", "totalBatches", "currentBatchIndex"}
**   windows   {"total", "active", "obsolete", "windows", "estimatedTokens"}
**   listing   a text with a line per message
**   limit     {"limit" (or null), "tokens", "over"}
**   calibration    what estimates are multiplied by, 1 or more
**   encoding, model, shape    what counts; the model and the shape of what was read, or null
**   warnings  [{"code", "message", "line", "byte", "lenient"}] of the reading
*/
EBB_API ebb_status ebb_chat_query(ebb_chat *chat, const char *query, size_t size, ebb_text *json);

/* ---- trimming ---- */

/*
** Trims to a budget of tokens, by a policy; one batch with its ledger, or
** nothing at all. To the end, within the runtime's fuel and deadline; in slices:
** ebb_task_trim.
**
** policy: the name of a built-in or a loaded one, or a JSON list of several that
** run in order until it fits: ["clear_tool_uses", {"name": "keep_recent", "keep": 3}].
** NULL: keep_recent.
** options: a JSON object or nothing: budget (default: the model's window less its
** output reserve), reserve, guards, dryRun, options {of the policy}.
** *report (may be NULL): {before, after, budget, trust, dropped, replaced, inserted,
** kept, batch, refused, notes [{by, text}], ledger [{action, seq, role, by, reason, tokens}]}.
** EBB_CANNOT_FIT, EBB_OVER_BUDGET, EBB_POLICY, EBB_FUEL, EBB_DEADLINE ...
*/
EBB_API ebb_status ebb_chat_trim(ebb_chat *chat, const char *policy, const char *options, size_t size,
                                 ebb_text *report);
/* The same with the report for a writer. It has come whole before the trim takes effect: it
   holds if the call answers EBB_OK. */
EBB_API ebb_status ebb_chat_trim_to(ebb_chat *chat, const char *policy, const char *options, size_t size,
                                    ebb_write write, void *user);

/* Loads a policy from the text of its Lua file, under a name that is no built-in
   one's. It runs sandboxed; the text itself, which only says what the policy is,
   with a twentieth of the fuel. A name that was loaded before is given the new one
   if that compiles and is a policy; else the old one stays. Tasks that run end
   with the one that they began with. EBB_SYNTAX, EBB_SHAPE, EBB_POLICY, EBB_FUEL ... */
EBB_API ebb_status ebb_policy_load(ebb_runtime *runtime, const char *name, const char *source, size_t size);

/* A policy that is compiled once, for any number of runtimes, in any threads: the text is
   compiled and checked in `runtime`, which is not changed otherwise, with the errors of
   ebb_policy_load. The handle is the host's: it never changes, and outlives the runtime;
   its memory, about twice the text, comes from that runtime's allocator (but does not count
   toward its limit), and is freed by the thread that calls ebb_policy_free. */
EBB_API ebb_status ebb_policy_new(ebb_runtime *runtime, const char *name, const char *source, size_t size,
                                  ebb_policy **policy);
/* As ebb_policy_load of the same name and text, without compiling it: what it says of itself
   runs anew, and its modules are this runtime's. The runtime keeps nothing of the handle. */
EBB_API ebb_status ebb_policy_add(ebb_runtime *runtime, const ebb_policy *policy);
/* Forgets a loaded policy; tasks that run end with it. EBB_UNKNOWN_NAME; EBB_ARGUMENT: built in. */
EBB_API ebb_status ebb_policy_unload(ebb_runtime *runtime, const char *name);
/* All policies, loaded ones first: [{"name", "summary", "builtIn", "options": {name: {"type", "default"?,
   "min"?, "max"?, "choices"?, "help"?}}}]. */
EBB_API ebb_status ebb_policies(ebb_runtime *runtime, ebb_text *json);
/* Frees the handle, while no thread is adding it. Runtimes that have the policy keep it.
   NULL is allowed. */
EBB_API void       ebb_policy_free(ebb_policy *policy);

/* ---- pipelines ---- */

/*
** A pipeline makes the body of a request of a chat, as `ebb pipeline` does: rules rewrite the history, presets
** are put around and into it (an author's note at a depth), a policy trims it to the budget, and what the
** provider would refuse is mended. The chat's messages do not change; it keeps the timers of a lorebook,
** and macro variables that the run changed, in a new batch.
**
**     ebb_pipeline_new(runtime, agent, ..) --> ebb_pipeline_run(pipeline, chat, ..) --> body, report
**
** agent: the JSON of an agent's file, or nothing: name, presets, rules, processors, variables, parameters ...
** (docs/reference/files.md). A policy's file in it is read by the config's `read`.
** options, a JSON object or nothing:
**     model, encoding    what the request is for, and counted by; default: the agent's, else the chat's
**     to                 its dialect; default: the model's, else the form of the messages
**     modelConfig, userProfile    objects as their files have them
**     set                ["token-limiter.budget=4000", ..]: single settings
**     onError            "stop" (default) or "skip": when a processor fails
**     zone               minutes east of UTC, for macros of dates; the time is that of clock_ms
**     keepExtra, reads   as in ebb.PipelineOptions
** EBB_SYNTAX, EBB_SHAPE, EBB_ARGUMENT, EBB_UNKNOWN_NAME (also of `to` and `encoding`), EBB_MEMORY: the message
** names the place. A model that is not known is no error: its tokens are estimated. A rule whose expression is wrong
** is left out of a run, whose log says why.
*/
EBB_API ebb_status ebb_pipeline_new(ebb_runtime *runtime, const char *agent, size_t size, const char *options,
                                    size_t options_size, ebb_pipeline **pipeline);
/* Tasks that run it go on. NULL is allowed; ebb_runtime_free frees all. */
EBB_API void       ebb_pipeline_free(ebb_pipeline *pipeline);
/* Makes a request. Options, a JSON object or nothing: preview (true: the same run, but functions of the host with
   effects are not called), session {id, name, variables {local, global}}, now (ms since 1970), seed (of dice).
   *report (may be NULL): {"summary": {"tokens", "trust", "budget", "dialect", "shares": [{"source", "messages",
   "tokens", "share"}], "skipped", "unasked", "losses", "variables"}, "parts": [{"role", "source", "sourceId",
   "seq", "tokens", "sources"}], "ledger": [{"action", "seq", "role", "by", "reason", "tokens"}], "logs":
   [{"processor", "level", "message", "details"}]}: a part per message of the request; ledger: what was dropped
   of the history; variables: as macros left them; the chat keeps what they changed.
   What a processor asks (asset, transcribe) goes to a function that ebb_register gave this name. Runs within
   the runtime's limits. EBB_CANNOT_FIT, EBB_SHAPE, EBB_ARGUMENT, EBB_SCRIPT ... */
EBB_API ebb_status ebb_pipeline_run(const ebb_pipeline *pipeline, ebb_chat *chat, const char *options, size_t size,
                                    ebb_text *body, ebb_text *report);

/* ---- functions for scripts ---- */

/*
** A function of the host's that scripts and policies call. Its arguments come as a
** JSON array; the JSON value that it puts into the sink is what the call answers
** (nothing: nil). A status other than EBB_OK is raised in the script as an error
** {code, message}, with the text in the sink as its message. It may read chats
** ("Callbacks" above). ebb_lua.h is for hosts that know Lua.
*/
typedef ebb_status (*ebb_function)(void *user, const char *arguments, size_t size, ebb_sink *result);

/* name: "roll", or "dice.roll" in a table of the host's. One that was registered
   before is given the new function; one that Lua or Ebb has is EBB_ARGUMENT.
   cost: fuel that a call uses, about 5 ns each (0: 20), besides what goes through;
   a function that takes long and costs little lets scripts overrun their slices.
   `user` must live as long as the runtime. */
EBB_API ebb_status ebb_register(ebb_runtime *runtime, const char *name, ebb_function function, void *user,
                                uint64_t cost);

/* ---- windows ----
**
** A window is state that the model reads as it is when a request is built. It lives
** beside the batches: a rollback brings back items, never windows. What shows it are
** items, {"type": "window", "window": "todo"} ({window = "todo"} in Lua), appended, inserted
** and trimmed as messages are; only the last of the same window is shown.
**
**     open --item--> ebb_chat_render --> model --> ebb_chat_act --> results, for the model
**                         ^                             |
**                      content                     actions' functions
*/

/* Opens one and, unless {"item": false}, appends its item. Options, a JSON object or
   nothing: description, content, actions, closable (true), pinned, important (true), hidden,
   render ("full" or "compact"), refresh ("in_place", or "append": an item per update).
     content   a text, or elements: ["item", {"id": 1}, "text", {"window": "other"}] or a
               list of these; an object in the second place is always the attributes
     actions   [{"id", "label", "params": "text:string, n:int?", "run": "shop.buy"}]; `run`
               names a function of ebb_register, looked up when it is called, and gets
               [params, window's id]; its answer is for the model
   A closed one of that id is opened anew; else EBB_ARGUMENT, as for all that is no window;
   EBB_UNKNOWN_NAME, EBB_SYNTAX, EBB_SHAPE, EBB_ENCODING, EBB_LIMIT. Of a window, `run` and
   functions of contents are not saved: after ebb_chat_load, update it with them. */
EBB_API ebb_status ebb_window_open(ebb_chat *chat, const char *id, const char *options, size_t size);
/* Sets the fields that are named (as above, but for item). EBB_UNKNOWN_NAME: no such
   window; EBB_ARGUMENT: it is closed. No conflict for tasks, unless they change windows too. */
EBB_API ebb_status ebb_window_update(ebb_chat *chat, const char *id, const char *fields, size_t size);
/* Closes a window, with a summary, which may be NULL. A window that is closed already stays
   as it is. */
EBB_API ebb_status ebb_window_close(ebb_chat *chat, const char *id, const char *summary);

/* Makes a window's content when it is rendered: puts UTF-8 text, up to 256 KiB, into the
   sink (bytes that are none become U+FFFD). With another status than EBB_OK the window has a
   line in its place, which says what is in the sink, and the request is still built;
   EBB_MEMORY ends the call. It may read chats. `user` must live as long as the runtime. */
typedef ebb_status (*ebb_content)(void *user, const char *window_id, ebb_sink *sink);
EBB_API ebb_status ebb_window_content(ebb_chat *chat, const char *id, ebb_content content, void *user);

/* [{"id", "description", "closable", "pinned", "important", "hidden", "closed", "render",
   "refresh", "created", "updated", "version", "summary"}], closed ones too. */
EBB_API ebb_status ebb_chat_windows(ebb_chat *chat, ebb_text *json);

/* The messages as they are sent, a JSON array: the bytes of each as they came, and each
   item that is shown as {"role": "user", "content": "<Window ...>"}. Options: maxTokens
   (then trimmed by keep_turns, for this list only; EBB_CANNOT_FIT), includeSystem (true),
   includeObsolete (false). Runs within the runtime's limits; a content that is a script has
   5,000,000 of fuel of them and a line in its place when it fails or uses that up. */
EBB_API ebb_status ebb_chat_render(ebb_chat *chat, const char *options, size_t size, ebb_text *json);
/* Performs the calls in what a model wrote, in order: [{"ok", "text", "code", "window",
   "action", "name", "params", "id"}]; `text` is for the model, whatever was wrong. An action
   that has no `run` is the host's to do: its code is "absent", its params are checked. What
   they did to the chat comes with the end of the call, or not at all: EBB_MEMORY (also of a
   registered function), EBB_FUEL ... */
EBB_API ebb_status ebb_chat_act(ebb_chat *chat, const char *text, size_t size, ebb_text *results);

/* ---- saving ---- */

/* The whole chat as JSON: messages, windows, batches, marks, ledgers, checkpoints, memory
   of policies, and as its last member a digest (XXH64) of all bytes before it. It has nothing
   about the machine, so equal chats have equal bytes. */
EBB_API ebb_status ebb_chat_save(ebb_chat *chat, ebb_text *saved);
/* As ebb_chat_save, for a writer. Works without any free memory; it is slower if there is not
   even a bit per message. */
EBB_API ebb_status ebb_chat_save_to(ebb_chat *chat, ebb_write write, void *user);
/* A chat from what ebb_chat_save gave: its digest is equal. A byte that was changed, lost or
   added since is EBB_SYNTAX, EBB_DAMAGED ..., with its place, or the digest's where no other is
   known; only white space behind the digest may differ. Chats saved before there were digests
   ("ebb": 1) load without that check. EBB_UNKNOWN_VERSION: saved by a newer library; EBB_LIMIT ... */
EBB_API ebb_status ebb_chat_load(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat);
/* The same without the digest's check, for what is left of a damaged chat. It may not be the chat
   that was saved: show it to its user before it goes on. The same errors where it is no chat. */
EBB_API ebb_status ebb_chat_salvage(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat);
/* SHA-256 of what would be saved, as 64 hex digits and a NUL: equal states,
   equal digests. */
EBB_API ebb_status ebb_chat_digest(ebb_chat *chat, char digest[65]);

/* ---- journals ---- */

/*
** A journal gets what each call changed in a chat, as bytes, before the call returns: appends, batches,
** rollbacks, marks, windows, settings. So a host has each turn on disk without writing the whole chat, where and
** how it likes; ebb_chat_read_journal makes the chat of the bytes again, equal by its digest:
**
**     static ebb_status keep(void *user, const void *record, size_t size) {
**       FILE *file = user;
**       bool good = fwrite(record, 1, size, file) == size && fflush(file) == 0 && fsync(fileno(file)) == 0;
**       return good ? EBB_OK : EBB_IO;
**     }
**     ebb_chat_journal(chat, keep, file, 0);            the first record has the whole chat
**     ebb_chat_append(chat, json, size);                a record of about the message's size
*/

/* Takes a record, valid during the call. If it returns a status other than EBB_OK, the call that made the change
   returns that status, and the chat is as before (a task ends with it; a message that ebb_chat_forget or a task
   has overwritten stays so); the host then cuts off what it wrote of the record, or reads up to there later. Of this
   runtime it may only read chats ("Callbacks" above). It may wait for a disk. */
typedef ebb_status (*ebb_journal)(void *user, const void *record, size_t size);
/* Begins a journal; the chat's former one ends. NULL ends it, and nothing is written any more. goes_on 0: the first
   record has all of the chat, and stands for itself: a journal that has become long is begun anew with it, in a new
   place. goes_on 1: the records follow those that the chat was read from; EBB_ARGUMENT if it was not, or was
   changed since. Forks have no journal. After ebb_chat_compact, and after ebb_chat_forget
   in the chat or a fork, a record has all of the chat, too; what the records before it have is the host's to remove.
   EBB_MEMORY; the status of `journal`. Later calls need memory for their record, about as much as it has bytes, and
   O(messages / 4096) for undoing it: EBB_MEMORY, and nothing has changed. */
EBB_API ebb_status ebb_chat_journal(ebb_chat *chat, ebb_journal journal, void *user, int goes_on);
/* A chat from records that stand one after the other. A part of a record at the end, or bytes of 0 there, are left
   out: a crash came while it was written. *whole (may be NULL) gets how many bytes the records before it have; cut the
   file to that, and go on behind it. EBB_DAMAGED: a byte was changed, or a record is missing, behind *whole; who would
   rather lose what follows than the chat reads the bytes up to there. EBB_UNKNOWN_VERSION, EBB_LIMIT, EBB_MEMORY. */
EBB_API ebb_status ebb_chat_read_journal(ebb_runtime *runtime, const void *records, size_t size, size_t *whole,
                                         ebb_chat **chat);

/* ---- tasks ---- */

/*
** A task works on a copy of its chat, taken when the task began; its changes are visible
** only once it is done. Then its batches are added to the chat, and messages that
** ebb_chat_append added in the meantime come after them; messages that the task added get
** the next seqs. Where both appended, and the task edited, too, a batch has what both
** appended, and a second one, its child, what all edits of the task led to. If the chat's
** list was changed otherwise in the meantime, or if both changed windows, the task ends
** with EBB_CONFLICT and the chat stays as it is. Marks, checkpoints and forgotten texts of
** both are kept without a conflict, and so is what policies and the timers of lorebooks
** remember, unless both changed it for the same policy (or for lorebooks) to something
** else; a task that only reads never conflicts.
**
**     task --ebb_step--> MORE ... --> EBB_EVENT_REQUEST --ebb_answer--> MORE ... --> EBB_EVENT_DONE
*/

/* As ebb_chat_trim. The policy's request for a model (summarize) becomes an event. */
EBB_API ebb_status ebb_task_trim(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_task **task);
/* Plays the chat, as a recording, turn by turn, once for each policy, and changes nothing: what
   would each have sent, dropped and shared with the request before? Options, a JSON object or
   nothing: policies (a list of what ebb_chat_trim takes: names, {"name", options ...}, lists that
   run in order; default: keep_recent), budget (default: the model's), reserve, guards. DONE has
   a list, first "none", which trims nothing, then one per policy, with the fields of ebb.ReplayResult
   in camel case: [{"policy", "budget", "requests", "refusals", "firstRefusal"?, "sent", "trust",
   "shared", "thinkingLost", "share", "fill"?, "cost", "unitsDropped", "messagesDropped", "messagesReplaced",
   "messagesInserted", "recallArguments"?, "recallValues"?, "recallLabelled"?, "arguments":
   {"total", "present", "labelled"}, "values": {the same}, ...}].
   A long chat needs more than the runtime's fuel and deadline: ebb_task_limit. */
EBB_API ebb_status ebb_task_replay(ebb_chat *chat, const char *options, size_t size, ebb_task **task);
/* As ebb_pipeline_run, in slices. DONE has {"request": the body, "report": as above}. What a processor asks and no
   function of the host answers becomes an event: {"type": "transcribe", "request": {..}}. */
EBB_API ebb_status ebb_task_pipeline(const ebb_pipeline *pipeline, ebb_chat *chat, const char *options, size_t size,
                                     ebb_task **task);
/* Runs the text of a Lua script, sandboxed: `local chat, arguments = ...`, the copy
   and the JSON arguments (may be nothing) as values. request(value) asks the host
   and waits; request { timer = 500 } is answered by a step, 500 ms later by clock_ms or
   at the next step after that, with the time that it is then. What the script returns is
   the event's JSON: plain values, messages (their JSON), chats, batches and selections
   (lists of messages), units, diffs, ledgers, windows. `name` is how errors call it. */
EBB_API ebb_status ebb_task_script(ebb_chat *chat, const char *name, const char *source, size_t size,
                                   const char *arguments, size_t arguments_size, ebb_task **task);
/* Ends and frees a task in any state; its changes are dropped and it has no event. NULL is
   allowed. */
EBB_API void       ebb_task_free(ebb_task *task);
/* Ends a task with the event EBB_EVENT_FAILED, EBB_CANCELLED, without freeing it. Called from
   the runtime's thread, between calls. EBB_ARGUMENT: it has ended. */
EBB_API ebb_status ebb_task_cancel(ebb_task *task);
/* As ebb_task_cancel, from any thread, while the task exists: a running task stops at once,
   any other ends with the next ebb_step. Does nothing to a task that has ended. */
EBB_API void       ebb_task_stop(ebb_task *task);
/* Replaces the runtime's limits for this task; what it has used so far counts. 0: the
   runtime's limit; EBB_NO_LIMIT: none. A deterministic runtime ignores the deadline.
   EBB_ARGUMENT: the task has ended. */
EBB_API ebb_status ebb_task_limit(ebb_task *task, uint64_t fuel, uint64_t deadline_us);

typedef enum ebb_task_phase {
  EBB_TASK_NONE,             /* NULL */
  EBB_TASK_READY,            /* a step runs it */
  EBB_TASK_ASKS,             /* ebb_next_event has its request */
  EBB_TASK_WAITING,          /* for ebb_answer or ebb_refuse */
  EBB_TASK_SLEEPING,         /* for a timer */
  EBB_TASK_DONE,
  EBB_TASK_FAILED
} ebb_task_phase;

EBB_API ebb_task_phase ebb_task_state(const ebb_task *task);
EBB_API ebb_chat  *ebb_task_chat(const ebb_task *task);
/* The tasks of a chat, also those that have ended, in the order in which they were made:
   the one behind `after` (NULL: the first); NULL at the end. */
EBB_API ebb_task  *ebb_next_task(const ebb_chat *chat, const ebb_task *after);
EBB_API void      *ebb_task_user(const ebb_task *task);
EBB_API void       ebb_task_set_user(ebb_task *task, void *user);

/* When the next timer is due, in ms since 1970; EBB_NONE: no task sleeps. */
EBB_API ebb_status ebb_next_timer(ebb_runtime *runtime, int64_t *at_ms);

/* Runs all tasks that are ready, in turns, for about so many microseconds and at
   most so much fuel. EBB_OK: nothing is ready any more. EBB_MORE: the budget ended first; with
   0, which a host may have left of a frame, before it began. EBB_NO_LIMIT: as long as anything
   is ready. A deterministic runtime ignores microseconds. A script in what cannot be interrupted
   (a handler of xpcall, __close in coroutine.close, contents of windows, load) goes on, and is
   stopped after 10 ms of processor time. */
EBB_API ebb_status ebb_step(ebb_runtime *runtime, uint64_t microseconds, uint64_t fuel);

typedef enum ebb_event_kind { EBB_EVENT_REQUEST = 1, EBB_EVENT_DONE, EBB_EVENT_FAILED } ebb_event_kind;

typedef struct ebb_event {
  size_t size;               /* set by the caller, as in ebb_message */
  ebb_event_kind kind;
  ebb_task *task;
  ebb_chat *chat;
  ebb_status status;         /* FAILED: why */
  ebb_text json;             /* REQUEST: the request; DONE: the result; FAILED: {"code", "message"} */
} ebb_event;

/* The next event, in the order in which they happened; EBB_NONE: there is none. After DONE
   and FAILED the task can only be freed. */
EBB_API ebb_status ebb_next_event(ebb_runtime *runtime, ebb_event *event);
/* Answers a task's request, with a JSON value, so that it is ready again. */
EBB_API ebb_status ebb_answer(ebb_task *task, const char *json, size_t size);
/* Refuses a task's request: request() fails in the task with this message. */
EBB_API ebb_status ebb_refuse(ebb_task *task, const char *message);

#ifdef __cplusplus
}
#endif
#endif
