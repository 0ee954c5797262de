/*
** Sessions in Lua: the module ebb.storage. It is no part of libebb and of ebb.core: only lua/ebb/session uses it, and
** the command and the module for stock Lua have it.
**
**     local db = storage.open("chats.db", { create = true })
**     local info = db:create("support", now)
**     local chat, info = db:load(info.id, options, resolve)
**     local chat, info, tail, past = db:tail(info.id, 200, options, resolve)      the last messages alone
**     local chat, info = db:load(info.id, options, resolve, past)      all of the session, in the tail's version
**     local branch = storage.begin(chat)                      edits go to the branch
**     local version = db:commit { session = info.id, expected = 3, before = chat, after = branch, ... }
**     storage.merge(chat, branch)                             what is on disk is in memory
**     storage.enclose(branch, other)                          the texts around the messages, of another conversation
**     storage.forgotten(chat, branch)                         what the branch overwrites, for other sessions
*/
#include "bind/storage_tail.h"

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/state.h"
#include "bind/storage_read.h"
#include "core/merge_branch.h"
#include "os/os.h"

int luaopen_ebb_storage(lua_State *L);

/* ---- sessions ---- */

/* Pushes the table of a session that is about to be made: once it is on disk, nothing may fail. */
static void reserve_info(lua_State *L, Text name, uint64_t origin) {
  SessionInfo info = {.name = name, .origin = origin};
  bind_push_session_info(L, &info);
}

/* Refuses a new name, the argument at `index`. */
static int refuse_name(lua_State *L, Status status, const StorageError *error, int index) {
  if (status != STATUS_DUPLICATE) return bind_storage_refuse(L, status, error);
  const char *text = lua_pushfstring(L, "%s: %s", error->text, lua_tostring(L, index));
  return bind_refuse(L, status_code(status), text);
}

/* Fills the table on top; `index` is the argument with the name. */
static int answer_reserved(lua_State *L, Status status, const SessionInfo *info, const StorageError *error, int index) {
  if (status != STATUS_OK) return refuse_name(L, status, error, index);
  bind_set_session_numbers(L, info);
  return 1;
}

/* A list that grows outside of Lua, whose errors must not jump over SQLite. */
typedef struct InfoList {
  Memory memory;
  SessionInfo *list;
  uint32_t count, room;
  Buffer *names;
} InfoList;

static void end_list(void *block) {
  InfoList *infos = block;
  memory_free(&infos->memory, infos->list, infos->room * sizeof *infos->list);
  infos->list = NULL;
}

static Status add_info(void *user, const SessionInfo *info) {
  InfoList *infos = user;
  void *grown = memory_grow(&infos->memory, infos->list, &infos->room, infos->count, sizeof *infos->list);
  if (grown == NULL) return STATUS_MEMORY;
  infos->list = grown;
  infos->list[infos->count++] = *info;
  return buffer_add(infos->names, info->name.bytes, info->name.size);
}

/* db:list() -> infos | nil, error */
static int l_list(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  StorageError error;
  InfoList *infos = bind_own(L, sizeof *infos, end_list);
  infos->memory = bind_memory(L);
  infos->names = bind_buffer(L);
  Status status = storage_list(storage, (SessionSink){.add = add_info, .user = infos}, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  lua_createtable(L, (int)infos->count, 0);
  size_t at = 0;
  for (uint32_t i = 0; i < infos->count; i++) {
    SessionInfo *info = &infos->list[i];
    info->name = text_plain(infos->names->bytes + at, info->name.size);
    at += info->name.size;
    bind_push_session_info(L, info);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* db:find(name) -> info | nil, error */
static int l_find(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  Text name = bind_name(L, 2, "the name of a session");
  StorageError error;
  SessionInfo info;
  Status status = storage_find(storage, name, &info, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  info.name = name;
  bind_push_session_info(L, &info);
  return 1;
}

/* db:create(name, now) -> info | nil, error */
static int l_create(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  Text name = bind_name(L, 2, "the name of a session");
  int64_t now = bind_integer(L, 3, NULL, INT64_MIN, INT64_MAX);
  StorageError error;
  SessionInfo info;
  reserve_info(L, name, 0);
  Status status = storage_create(storage, name, now, &info, &error);
  return answer_reserved(L, status, &info, &error, 2);
}

/* db:branch(session, name, now) -> info | nil, error */
static int l_branch(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2);
  Text name = bind_name(L, 3, "the name of a session");
  int64_t now = bind_integer(L, 4, NULL, INT64_MIN, INT64_MAX);
  StorageError error;
  SessionInfo info;
  reserve_info(L, name, session);
  Status status = storage_branch(storage, session, name, now, &info, &error);
  return answer_reserved(L, status, &info, &error, 3);
}

static int answer_done(lua_State *L, Status status, const StorageError *error) {
  if (status != STATUS_OK) return bind_storage_refuse(L, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* db:rename(session, name) -> true | nil, error */
static int l_rename(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2);
  StorageError error;
  Status status = storage_rename(storage, session, bind_name(L, 3, "the name of a session"), &error);
  return status == STATUS_OK ? answer_done(L, status, &error) : refuse_name(L, status, &error, 3);
}

/* db:remove(session) -> true | nil, error */
static int l_remove(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  StorageError error;
  Status status = storage_remove(storage, bind_session_argument(L, 2), &error);
  return answer_done(L, status, &error);
}

/* ---- commits ---- */

/* A commit begins with its first row: an edit that changed nothing writes nothing. */
typedef struct Committing {
  Storage *storage;
  StorageCommit commit;
  StorageError error;
  StoragePast *next;         /* of a tail: the version that the commit makes */
  bool begun, done;          /* done: it was committed before, by the same operation */
} Committing;

static Status put_row(void *user, const StateRow *row) {
  Committing *committing = user;
  if (!committing->begun) {
    Status status = storage_begin(committing->storage, &committing->commit, &committing->done, &committing->error);
    if (status != STATUS_OK) return status;
    if (committing->done) return STATUS_HOST;      /* stops the writer */
    committing->begun = true;
  }
  Status status = storage_put(committing->storage, row, &committing->error);
  return status == STATUS_OK && committing->next != NULL ? storage_past_put(committing->next, row) : status;
}

static Status put_options(Committing *committing, Text options) {
  StateRow row = {.kind = STATE_ROW_PART, .number = STATE_PART_OPTIONS, .bytes = options};
  return put_row(committing, &row);
}

/* The conversation in a field; NULL if it is not there. */
static ConversationHandle *conversation_field(lua_State *L, int index, const char *name) {
  if (!bind_field(L, index, name)) return NULL;
  return bind_check_conversation(L, -1);     /* stays on the stack */
}

static uint64_t number_field(lua_State *L, int index, const char *name) {
  bind_get_field(L, index, name);
  return (uint64_t)bind_integer(L, -1, name, 0, INT64_MAX);
}

/* `tail`: of which `before` is what was read; NULL: `before` is whole. */
static Status write_changes(Committing *committing, const Conversation *before, const Conversation *after,
                            Text options, const SessionTail *tail) {
  StateRowSink sink = {.put = put_row, .user = committing};
  Status status = tail->is_set ? state_write_tail_rows(&tail->tail, tail->growth, before, after, sink)
                               : state_write_rows(before, after, sink);
  bool is_damaged = tail->is_set && status == STATUS_SHAPE && committing->error.text[0] == '\0';
  if (is_damaged) storage_fail(&committing->error, status, "the row of the current batch's growth is damaged");
  if (status == STATUS_OK && options.size > 0) status = put_options(committing, options);
  if (committing->done) return STATUS_OK;
  if (status != STATUS_OK && committing->begun) storage_abandon(committing->storage);
  if (status != STATUS_OK || !committing->begun) return status;
  return storage_commit(committing->storage, &committing->error);
}

/* What lists of sessions show of it. */
static void describe_commit(StorageCommit *commit, const Conversation *edited) {
  commit->messages = sequence_count(conversation_list(edited));
  commit->tokens = bind_request_tokens(edited);
  commit->stored = store_count(conversation_store(edited));
  commit->batches = history_count(conversation_history(edited));
}

/* db:commit{session, expected, before?, after, operation?, options, new_options?, now, tail?}
   -> version, repeated, tokens | nil, error | false: an edit of a tail needs the rest of the session

   `after` is a branch of `before`, whose rows are those of version `expected`; without `before` its rows replace all.
   `options`: the options as JSON; `new_options`: they changed. `repeated`: the operation had been committed before,
   as that version, and nothing was written. Where nothing changed, nothing is written, and the version stays. */
static int l_commit(lua_State *L) {
  static const char *const names[] = {"session", "expected", "before", "after", "operation", "options", "new_options",
                                      "now", "tail", NULL};
  Storage *storage = bind_check_storage(L, 1);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  bind_check_names(L, 2, NULL, names);
  Committing committing = {.storage = storage};
  StorageCommit *commit = &committing.commit;
  commit->session = number_field(L, 2, "session");
  commit->expected = number_field(L, 2, "expected");
  ConversationHandle *before = conversation_field(L, 2, "before"), *after = conversation_field(L, 2, "after");
  if (after == NULL) return bind_raise_argument(L, "argument", NULL, "after: a Conversation is expected");
  if (bind_field(L, 2, "operation")) commit->operation = bind_text(L, -1);
  bind_get_field(L, 2, "now");
  commit->now = bind_integer(L, -1, "now", INT64_MIN, INT64_MAX);
  Buffer *options = bind_buffer(L);
  if (before != NULL && !conversation_is_branch(after->conversation, before->conversation)) {
    return bind_raise_argument(L, "argument", NULL, "after: expected a branch of `before`");
  }
  describe_commit(commit, after->conversation);
  commit->replaces = before == NULL || conversation_is_compacted(after->conversation);
  SessionTail tail = {.is_set = false};
  bool is_alone = !bind_field(L, 2, "tail") || bind_tail_of_commit(L, lua_gettop(L), before, after, commit, &tail);
  if (!is_alone) {
    lua_pushboolean(L, false);
    return 1;
  }
  Buffer *growth = bind_buffer(L);
  Status read = tail.is_set ? bind_read_tail_growth(storage, commit->session, &tail, growth, &committing.error)
                            : STATUS_OK;
  if (read != STATUS_OK) return bind_storage_refuse(L, read, &committing.error);
  bind_get_field(L, 2, "options");
  if (commit->replaces || bind_flag_field(L, 2, "new_options", false)) {
    Status known = bind_write_options(after, bind_text(L, -1), options);
    if (known != STATUS_OK) return bind_raise_status(L, known, "commit");
  }
  committing.next = tail.next;
  Status status = write_changes(&committing, commit->replaces ? NULL : before->conversation, after->conversation,
                                text_plain(options->bytes, options->size), &tail);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &committing.error);
  if (tail.is_set && committing.begun) bind_advance_tail(&tail, commit);
  uint64_t version = committing.done ? committing.error.actual : commit->expected + committing.begun;
  lua_pushinteger(L, (lua_Integer)version);
  lua_pushboolean(L, committing.done);
  lua_pushinteger(L, (lua_Integer)commit->tokens);
  return 3;
}

/* db:begin_group() -> true | nil, error: what is written from now on is one transaction, to its end */
static int l_begin_group(lua_State *L) {
  StorageError error;
  Status status = storage_begin_group(bind_check_storage(L, 1), &error);
  return answer_done(L, status, &error);
}

/* db:claim() -> true | nil, error: to the end of the group nobody else changes what sessions share */
static int l_claim(lua_State *L) {
  StorageError error;
  Status status = storage_claim(bind_check_storage(L, 1), &error);
  return answer_done(L, status, &error);
}

/* db:end_group(keeps) -> true | nil, error */
static int l_end_group(lua_State *L) {
  StorageError error;
  Status status = storage_end_group(bind_check_storage(L, 1), lua_toboolean(L, 2), &error);
  return answer_done(L, status, &error);
}

/* db:wait(session, version, ms) -> the version, once it is another one or the time is over | nil, error */
static int l_wait(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2), version = (uint64_t)bind_integer(L, 3, NULL, 0, INT64_MAX);
  uint64_t actual = version;
  StorageError error;
  Status status = storage_wait(storage, session, version, bind_integer(L, 4, NULL, 0, INT32_MAX), &actual, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  lua_pushinteger(L, (lua_Integer)actual);
  return 1;
}

/* ---- upkeep ---- */

static Status keep_fault(Buffer *faults, const char *fault) {
  Status status = buffer_add_string(faults, fault);
  return status == STATUS_OK ? buffer_add_byte(faults, '\0') : status;
}

static void tell(void *user, const char *fault) { keep_fault(user, fault); }      /* without memory: fewer faults */

/* db:lease(session, owner, ms) -> 0, or the ms for which another owner has it | nil, error */
static int l_lease(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  uint64_t session = bind_session_argument(L, 2);
  int64_t left = 0;
  StorageError error;
  int64_t ms = bind_integer(L, 4, NULL, 1, INT32_MAX);
  Status status = storage_lease(storage, session, bind_text(L, 3), ms, &left, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  lua_pushinteger(L, left);
  return 1;
}

/* db:release(session, owner) -> true | nil, error */
static int l_release(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  StorageError error;
  Status status = storage_release(storage, bind_session_argument(L, 2), bind_text(L, 3), &error);
  return answer_done(L, status, &error);
}

/* db:check() -> faults, a list of texts | nil, error */
static int l_check(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  StorageError error;
  Buffer *faults = bind_buffer(L);
  Status status = storage_check(storage, tell, faults, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  lua_newtable(L);
  lua_Integer count = 0;
  for (size_t at = 0; at < faults->size;) {
    Text fault = text_of(faults->bytes + at);
    bind_push_text(L, fault);
    lua_rawseti(L, -2, ++count);
    at += fault.size + 1;
  }
  return 1;
}

/* db:settle(vacuum) -> true | nil, error; writes the log into the main file */
static int l_settle(lua_State *L) {
  StorageError error;
  Status status = storage_settle(bind_check_storage(L, 1), lua_toboolean(L, 2), &error);
  return answer_done(L, status, &error);
}

/* db:backup(path) -> true | nil, error */
static int l_backup(lua_State *L) {
  Storage *storage = bind_check_storage(L, 1);
  StorageError error;
  Status status = storage_backup(storage, bind_path(L, 2), &error);
  return answer_done(L, status, &error);
}

/* db:describe() -> library and version, warning; "" for no warning */
static int l_describe(lua_State *L) {
  char what[64], warning[200];
  storage_describe(bind_check_storage(L, 1), what, warning);
  lua_pushstring(L, what);
  lua_pushstring(L, warning);
  return 2;
}

/* ---- opening ---- */

/* db:close() */
static int l_close(lua_State *L) {
  bind_check_storage(L, 1);
  bind_end_storage(lua_touserdata(L, 1));
  return 0;
}

/* open(place, {create, relaxed, salvage, wait}) -> db | nil, error */
static int l_open(lua_State *L) {
  static const char *const names[] = {"create", "relaxed", "salvage", "wait", NULL};
  const char *place = bind_path(L, 1);
  uint32_t wait = STORAGE_WAIT_MS;
  StorageConfig config = {.memory = bind_memory(L)};
  if (!lua_isnoneornil(L, 2)) {
    bind_expect(L, 2, NULL, LUA_TTABLE);
    bind_check_names(L, 2, NULL, names);
    config.creates = bind_flag_field(L, 2, "create", false);
    config.relaxed = bind_flag_field(L, 2, "relaxed", false);
    config.salvages = bind_flag_field(L, 2, "salvage", false);
    bind_count_field(L, 2, "wait", &wait);
  }
  config.wait_ms = wait;
  lua_settop(L, 2);
  StorageHandle *handle = bind_new(L, &BIND_STORAGE, sizeof *handle, 0);
  StorageError error;
  Status status = storage_open(place, &config, &handle->storage, &error);
  if (status != STATUS_OK) return bind_storage_refuse(L, status, &error);
  return 1;
}

/* operation() -> 16 random bytes, the id of a commit */
static int l_operation(lua_State *L) {
  HashKey key = entropy_hash_key();
  lua_pushlstring(L, (const char *)&key, sizeof key);
  return 1;
}

/* state(chat) -> a number that each edit, mark and window changes */
static int l_state(lua_State *L) {
  const Conversation *conversation = bind_check_conversation(L, 1)->conversation;
  uint64_t edits = conversation_version(conversation) + marks_edits(conversation_marks(conversation));
  lua_pushinteger(L, (lua_Integer)edits);
  return 1;
}

/* enclose(branch, chat): the branch gets the texts that stand around the messages of `chat` in its file. Its messages
   stay, and so does its count of what is around them until it is read again. */
static int l_enclose(lua_State *L) {
  ConversationHandle *branch = bind_enter(L, 1);
  const ConversationHandle *chat = bind_check_conversation(L, 2);
  Envelope *envelope = envelope_share(chat->envelope);
  envelope_release(branch->envelope);
  branch->envelope = envelope;
  branch->document = chat->document;
  branch->document.first = 0;      /* none of its messages was read with these texts */
  branch->document.count = 0;
  branch->document.block = (Text){0};
  return 0;
}

static int index_storage(lua_State *L) { return bind_index_method(L, &BIND_STORAGE); }

/* require "ebb.storage", after ebb.core */
int luaopen_ebb_storage(lua_State *L) {
  static const BindMethod methods[] = {
    {"list", l_list, "", CHARGE_NEVER},
    {"find", l_find, "name", CHARGE_NEVER},
    {"create", l_create, "name now", CHARGE_NEVER},
    {"branch", l_branch, "session name now", CHARGE_NEVER},
    {"rename", l_rename, "session name", CHARGE_NEVER},
    {"remove", l_remove, "session", CHARGE_NEVER},
    {"load", bind_load_session, "session options resolve past", CHARGE_NEVER},
    {"tail", bind_load_tail, "session count options resolve", CHARGE_NEVER},
    {"messages", bind_session_messages, "session", CHARGE_NEVER},
    {"rows", bind_session_rows, "session", CHARGE_NEVER},
    {"commit", l_commit, "change", CHARGE_NEVER},
    {"begin_group", l_begin_group, "", CHARGE_NEVER},
    {"claim", l_claim, "", CHARGE_NEVER},
    {"end_group", l_end_group, "keeps", CHARGE_NEVER},
    {"wait", l_wait, "session version ms", CHARGE_NEVER},
    {"lease", l_lease, "session owner ms", CHARGE_NEVER},
    {"release", l_release, "session owner", CHARGE_NEVER},
    {"check", l_check, "", CHARGE_NEVER},
    {"settle", l_settle, "vacuum", CHARGE_NEVER},
    {"backup", l_backup, "path", CHARGE_NEVER},
    {"describe", l_describe, "", CHARGE_NEVER},
    {"close", l_close, "", CHARGE_NEVER},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"open", l_open, "place options", CHARGE_NEVER},
    {"operation", l_operation, "", CHARGE_NEVER},
    {"state", l_state, "chat", CHARGE_NEVER},
    {"begin", bind_begin_branch, "chat", CHARGE_NEVER},
    {"enclose", l_enclose, "branch chat", CHARGE_NEVER},
    {"merge", bind_merge_branch, "chat branch", CHARGE_NEVER},
    {"forgotten", bind_forgotten, "before branch", CHARGE_NEVER},
    {"forget", bind_forget_again, "chat seq raw", CHARGE_NEVER},
    BIND_END,
  };
  bind_type(L, &BIND_STORAGE, index_storage, NULL);
  bind_methods(L, &BIND_STORAGE, methods);
  bind_type(L, &BIND_PAST, NULL, NULL);
  lua_newtable(L);
  bind_functions(L, "storage", functions);
  return 1;
}
