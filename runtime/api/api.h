/*
** What the files of libebb share. Each public function does three things: it
** enters its runtime (no call from a callback), works, and leaves with a status.
**
**     host --> ebb_* --> api_enter --> core, for what needs no Lua (append, read)
**                                 \--> sandbox_run -> lua/ebb/libebb      trusted, unlimited
**                                 \--> sandbox_call, task_step         scripts, within limits
**
** Memory: host's allocator <- runtime (counts, limits) <- Lua, and per chat an
** quota (memory_quota.c) <- conversation. Whatever Lua holds for a chat or a task
** lies in the registry under the address of the chat or task.
*/
#ifndef EBB_API_API_H
#define EBB_API_API_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/ring.h"
#include "base/sink.h"
#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/counter.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/ledger.h"
#include "bind/load.h"
#include "bind/open.h"
#include "bind/reference.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/vocab.h"
#include "bind/window.h"
#include "core/merge_branch.h"
#include "include/ebb.h"
#include "include/ebb_lua.h"
#include "sandbox/sandbox.h"

typedef struct MemoryQuota MemoryQuota;
typedef struct VocabEntry VocabEntry;

/* What the files above library.c do for the Lua library; each function has the runtime as upvalue 1. */
typedef struct LibraryHooks {
  lua_CFunction tokenizer, vocabularies;     /* in the place of core.tokenizer and core.vocab.list */
  const luaL_Reg *functions;                 /* of lua/ebb/libebb */
} LibraryHooks;

enum {
  ANSWERS = 2,               /* texts that one call hands out, at most */
  ANSWER_KEPT = 64 * 1024,   /* bytes that a buffer of answers keeps in any case */
  API_POLICY_NAME = 63       /* bytes of a policy's name */
};

/* What a listener has been told of. */
typedef struct ChatState {
  uint64_t window_edits;
  uint32_t count, batch, batch_count;
  bool over;                 /* its limit */
} ChatState;

struct ebb_runtime {
  ebb_config config;         /* filled up with defaults */
  Memory host, memory;       /* the host's allocator, and that which counts it */
  size_t used;               /* bytes, this struct included */
  Sandbox *sandbox;
  lua_State *L;              /* its main thread */
  Ring chats;
  Ring listening;            /* chats with a listener */
  Ring ready;                /* tasks that can run; the first has the next turn */
  uint32_t ready_count;
  Ring events;               /* tasks with an event to be fetched, in order */
  Ring sleepers;             /* tasks that wait for a timer, in the order in which they wake */
  atomic_bool stopped;       /* a task was, since the last step: set by any thread */
  const LibraryHooks *hooks;
  void (*tell)(ebb_runtime *runtime);   /* listen.c, once a chat has a listener; NULL: none had */
  VocabEntry *vocabs;        /* given by the host, or read; by their names */
  bool busy;                 /* a call of the host's is under way */
  bool reading;              /* and one of its callbacks reads a chat */
  bool allocating;           /* the host's allocator runs: anything may be half done */
  Buffer answers[ANSWERS], read_answers[ANSWERS];   /* of calls, and of what callbacks read */
  Buffer module;
  const Sink *out;           /* of write_document; while a call lasts that uses it */
  ebb_error error;
  char code[64], message[1024];
};

struct ebb_chat {
  ebb_runtime *runtime;
  ConversationHandle *handle;   /* held by the registry */
  MemoryQuota *quota;
  char *options;                /* as it was made with: JSON, options_size bytes */
  size_t options_size, options_document;       /* options_document: see document.c; 0: it was not read */
  Ring link;                    /* in the runtime's chats */
  Ring listening;               /* in the runtime's; alone: it has no listener */
  ebb_listener listener;
  void *listener_user;
  ChatState known;
  Ring tasks;                   /* that work for it, or have ended and are not freed */
  void (*end_stream)(ebb_chat *chat);   /* stream.c and task.c set these when they make the first one */
  void (*end_task)(ebb_task *task);
  struct Stream *stream;        /* NULL: none is open; in the quota's memory */
  void *user;
};

struct ebb_sink {
  Buffer *buffer;
  size_t cap;
  bool over;                 /* more came than fits */
};

/* The registry holds the fork under the branch's address. */
typedef struct Branch {
  ebb_chat *chat;
  ConversationHandle *fork;     /* NULL: not begun, or ended */
} Branch;

typedef enum TaskPhase { PHASE_READY, PHASE_WAITING, PHASE_SLEEPING, PHASE_ENDED } TaskPhase;

struct ebb_task {
  ebb_runtime *runtime;
  Task *task;
  Branch branch;
  TaskPhase phase;
  atomic_bool stopped;          /* by ebb_task_stop, from any thread */
  Ring of_chat, ready, event;   /* event: alone if none waits to be fetched */
  Ring sleeping;
  int64_t wake;                 /* of a sleeper: ms since 1970 */
  ebb_event_kind kind;
  ebb_status status;            /* of a failure, and its texts */
  char *code, *message;         /* both in `texts` */
  char texts[320];
  Buffer json;                  /* of the event */
  void *user;
};

/* Collects all garbage, whole cycles: something failed for want of memory, or left a draft behind. */
static inline void api_collect_all(ebb_runtime *runtime) { lua_gc(runtime->L, LUA_GCCOLLECT); }

static inline ebb_runtime *chat_runtime(const ebb_chat *chat) { return chat == NULL ? NULL : chat->runtime; }

/* ---- abi.c ---- */

/* Bytes of the first version's structs: what every host has. */
enum { CONFIG_FIRST = 104, MESSAGE_FIRST = 72, EVENT_FIRST = 56 };

/* EBB_UNKNOWN_VERSION if no version of the struct `name` has this size. */
ebb_status abi_check(ebb_runtime *runtime, size_t size, size_t first, const char *name);
/* Copies a result into the caller's struct, whose `size` was checked; sets what is unknown here to 0. */
void       abi_write(void *given, const void *full, size_t full_size);
/* The config as this library knows it: what an older caller does not have is 0. It says itself
   what is wrong (api_fail_config). EBB_UNKNOWN_VERSION, EBB_ARGUMENT. */
ebb_status api_read_config(const ebb_config *config, ebb_config *full);
/* Writes the text to where the config wants errors; answers the status. */
ebb_status api_fail_config(const ebb_config *config, ebb_status status, const char *format, ...);

Memory     api_host_memory(const ebb_config *config);

/* ---- enter.c ---- */

/* EBB_OK, and the runtime is busy until api_leave; or EBB_ARGUMENT, EBB_BUSY. */
ebb_status api_enter(ebb_runtime *runtime);
/* The same for calls that only read chats, and run no Lua: from a callback, too. Scripts work on
   copies of chats and change them only after the last callback. */
ebb_status api_enter_read(ebb_runtime *runtime);
ebb_status api_leave(ebb_runtime *runtime, ebb_status status);
int64_t    api_now(ebb_runtime *runtime);
size_t     api_message_limit(const ebb_runtime *runtime);       /* bytes of one message's JSON */
/* Empties an answer and those behind it, to be filled; api_answer hands it out. */
Buffer    *api_answer_buffer(ebb_runtime *runtime, int number);
ebb_status api_answer(ebb_runtime *runtime, int number, ebb_text *text);
void       api_free_answers(ebb_runtime *runtime);

/* ---- error.c ---- */

/* Notes that a handle or a place for a result is NULL. So may the runtime be. */
ebb_status api_missing(ebb_runtime *runtime);
/* Notes an error; answers its status. code NULL: the status's name. */
ebb_status api_fail(ebb_runtime *runtime, ebb_status status, const char *code, const char *format, ...);
ebb_status api_fail_status(ebb_runtime *runtime, Status status, const char *what);
/* What the sandbox says of a call that ended so. */
ebb_status api_fail_end(ebb_runtime *runtime, SandboxEnd end);
ebb_status api_status_of_code(const char *code);
/* Tells the host's log, in UTF-8 whatever the line is. From within a sandbox's call. */
void       api_log(ebb_runtime *runtime, ebb_log_level level, const char *line, size_t size);

/* ---- memory_quota.c ---- */

/* One chat's memory, its forks' included. It ends with the last of its blocks and
   holders; `memory` is the runtime's, `limit` 0: none. NULL for want of memory. */
MemoryQuota *quota_new(const Memory *memory, size_t limit);
MemoryQuota *quota_share(MemoryQuota *quota);
void     quota_release(MemoryQuota *quota);
Memory   quota_memory(MemoryQuota *quota);
size_t   quota_used(const MemoryQuota *quota);         /* bytes */
/* Around an edit that may let go of messages: for that time an eighth more than the
   limit is allowed, so that a full chat can be trimmed and compacted. */
void     quota_allow_excess(MemoryQuota *quota, bool allows_excess);

/* ---- library.c ---- */

/* What the host's `read` has under a name, at most `cap` bytes: ABSENT, IO, LIMIT, MEMORY. */
Status     api_read(ebb_runtime *runtime, const char *name, size_t cap, Buffer *out);
/* In a new state: what the calls below expect. */
ebb_status api_begin_library(ebb_runtime *runtime, const LibraryHooks *hooks);
/* Opens the Lua library beside the guarded globals, unless it is open; within sandbox_run. */
void       api_need_library(lua_State *L);
/* Pushes a function of lua/ebb/libebb, opening the library if need be; within sandbox_run. */
void       api_push_function(lua_State *L, const char *name);
/* Runs a C function protected, without limits; its argument is `data`. */
ebb_status api_run(ebb_runtime *runtime, lua_CFunction function, void *data);
/* Puts the value on top, which it pops, where api_call and task_start find it. */
void       api_hold(lua_State *L);
bool       api_push_held(ebb_runtime *runtime);
/* Calls it within the runtime's limits and at most so much fuel (UINT64_MAX: all
   that there is); its result goes to `out` (NULL: it is dropped). */
ebb_status api_call_held(ebb_runtime *runtime, uint64_t fuel, const Sink *out);
/* Writes a result: two values on top, which it pops: a JSON text, and nil or the ledger of the
   trim that the text, an object, tells of. */
Status     api_write_result(lua_State *L, Sink out);
SandboxLimits api_limits(const ebb_runtime *runtime);

/* ---- ask.c ---- */

typedef struct Asking {
  const char *function;      /* of lua/ebb/libebb */
  ebb_chat *chat;            /* the first argument is its conversation, */
  Branch *branch;            /* or a fork of it, which the caller ends; both NULL: neither */
  Text texts[3];             /* the next ones; bytes NULL: nil */
  int text_count;
  ebb_chat *target;          /* not NULL: the last one, for keep_conversation */
} Asking;

/* The result goes to `out`, as that of api_call_held. */
ebb_status api_ask(ebb_runtime *runtime, const Asking *asking, const Sink *out);
/* For functions that write their answer: the runtime's first one. */
ebb_status api_ask_text(ebb_runtime *runtime, const Asking *asking, ebb_text *answer);
/* A whole public call: what a function without arguments writes. */
ebb_status api_list(ebb_runtime *runtime, const char *function, ebb_text *json);
Text       api_text(const char *string);               /* NULL: nil */
Text       api_options(const char *options, size_t size);         /* NULL: "" */

/* ---- chat.c ---- */

/* A chat without a conversation, in no list yet. */
ebb_status chat_new(ebb_runtime *runtime, MemoryQuota *quota, const char *options, size_t size, ebb_chat **chat);
ebb_status chat_make(ebb_chat *chat);                  /* its conversation, by its options */
/* The same by a function of `data`, which calls chat_hold. */
ebb_status chat_make_by(ebb_chat *chat, lua_CFunction run, void *data);
void       chat_hold(lua_State *L, ebb_chat *chat);    /* takes the conversation on top */
void       chat_push_options(lua_State *L, const ebb_chat *chat);      /* what the host gave, as JSON */
/* A chat of the same quota and options, without a conversation. */
ebb_status chat_new_like(ebb_chat *chat, ebb_chat **made);
void       chat_discard(ebb_chat *chat);               /* not in a list */
void       chat_enlist(ebb_chat *chat);
void       chat_push(lua_State *L, const void *holder);/* what the registry holds for a chat or task */
/* Ends a conversation at once, not when the collector comes by. */
void       chat_drop(ebb_runtime *runtime, const void *holder);
Conversation *chat_conversation(const ebb_chat *chat);
/* A whole public call: what a function of lua/ebb/libebb tells of the chat, as JSON. */
ebb_status chat_list(ebb_chat *chat, const char *function, ebb_text *json);
/* Before an edit: what time it is. */
void       chat_tick(ebb_chat *chat);
/* keep_conversation(conversation, target) for lua/ebb/libebb: the target's from now on */
int        chat_keep(lua_State *L);

/* ---- edit.c ---- */

/* Appends a message or a list of them; `what` is how errors call it. */
ebb_status chat_append(ebb_chat *chat, const char *what, Text json);
/* Notes the error that a reading of `text` stopped at, with its place. */
ebb_status api_fail_json(ebb_runtime *runtime, const Json *json, const char *what, Text text);
/* Reads one message as it would be appended, and lets `use` see it; appends nothing. */
typedef Status ShapeUser(void *user, Text raw, const MessageShape *shape);
ebb_status chat_read_shape(ebb_chat *chat, const char *what, Text json, ShapeUser *use, void *user);

/* ---- stream.c ---- */

/* An answer that grows. The message as it would be settled now: head, text, tail. */
typedef struct Stream {
  Buffer head, tail;         /* JSON, up to the inside of the content and from its end on */
  Buffer text;
  size_t whole;              /* bytes of the text that are whole characters */
  Buffer id, name;
  Role role;
  bool has_timestamp;
  int64_t timestamp;
} Stream;

/* Adds its JSON, which ends with what is a whole character. */
Status     stream_write(const Stream *stream, Buffer *out);

/* ---- branch.c ---- */

Branch     branch_of(ebb_chat *chat);
/* Makes the fork and pushes it; for use within sandbox_run. */
void       branch_push_fork(lua_State *L, Branch *branch);
/* Brings back what was done on the fork; if it fails, nothing has changed. EBB_CONFLICT. */
ebb_status branch_commit(Branch *branch);
/* Drops the fork with what did not come back; also without a fork. */
void       branch_end(Branch *branch);

/* ---- vocab.c ---- */

/* What stands in the place of core.tokenizer and core.vocab.list; upvalue 1 is the runtime. */
int        api_tokenizer(lua_State *L);
int        api_vocabularies(lua_State *L);
/* After the state is closed: tokenizers hold shares. */
void       api_free_vocabs(ebb_runtime *runtime);

/* ---- policy.c ---- */

/* What lua/ebb/libebb hands a compiled chunk to; upvalue 1 is the runtime. */
int        api_keep_chunk(lua_State *L);

/* ---- function.c ---- */

/* A function of the host's: with JSON on both sides, or with values of Lua's. */
typedef struct HostFunction {
  union {
    ebb_function json;
    ebb_lua_function lua;
  };
  void *user;
  uint64_t cost;
} HostFunction;

/* Pushes a closure of `call`, whose upvalue is a copy of the host's function. */
void       api_push_host(lua_State *L, const HostFunction *host, lua_CFunction call);
/* A whole public call: `function` of lua/ebb/libebb registers the host's under a name. */
ebb_status api_register(ebb_runtime *runtime, const char *function, const char *name, const HostFunction *host,
                        lua_CFunction call);
/* What a call of the host's is charged. */
uint64_t   api_cost(uint64_t given);

/* ---- window.c ---- */

/* write_messages and write for lua/ebb/libebb, upvalue 1 is the runtime: add to the first answer. */
int        api_write_messages(lua_State *L);
int        api_write_text(lua_State *L);

/* ---- writer.c ---- */

/* A text on its way to a function of the host's; its status if that was not EBB_OK. */
typedef struct Writing {
  ebb_write write;
  void *user;
  ebb_status failed;
  lua_State *inside;         /* not NULL: it is called within a call of the sandbox's */
} Writing;

Sink       api_writer(Writing *writing);
/* What a call answers that ended so: the writer's own failure comes first. */
ebb_status api_end_writing(ebb_runtime *runtime, const Writing *writing, ebb_status status);

/* ---- document.c ---- */

/* Of a chat that was read, from what its options say: before its state is read. */
ebb_status document_restore(ebb_chat *chat);
/* Finds where the part of the options ends that says what stood around the messages. */
size_t     document_find(Text options);
/* write_document(list, texts, shape) for lua/ebb/libebb, upvalue 1 is the runtime: writes the list to
   runtime->out; shape nil: as it was read. */
int        api_write_document(lua_State *L);

/* ---- query.c ---- */

/* write_list(list) and write_message(message), the same: add the bytes of messages to the first
   answer, of several as a JSON list. */
int        api_write_list(lua_State *L);
int        api_write_message(lua_State *L);

/* ---- save.c ---- */

ebb_status chat_save(ebb_chat *chat, Sink sink);

/* ---- task.c ---- */

void       task_discard(ebb_task *task);               /* out of the list, and freed */
/* Sets the phase; a task that becomes ready comes behind all that are. */
void       task_enter(ebb_task *task, TaskPhase phase);
void       task_note_event(ebb_task *task, ebb_event_kind kind);
/* The task ends with the runtime's last error. */
void       task_fail(ebb_task *task, ebb_status status);
/* Ends the tasks that ebb_task_stop was called for. */
void       task_end_stopped(ebb_runtime *runtime);

/* ---- step.c ---- */

/* Answers the open request with a JSON value: the task is ready again. */
ebb_status task_give_answer(ebb_task *task, Text json);

/* ---- timer.c ---- */

/* Lets the task sleep if its request, in `json`, is a timer; else false. */
bool       timer_begin(ebb_task *task);
/* Wakes the tasks whose time has come. */
void       timer_wake(ebb_runtime *runtime);

#endif
