/*
** Files and texts: in, as conversations; out, as they came.
*/
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/error.h"
#include "bind/files.h"
#include "bind/handle.h"
#include "bind/load.h"
#include "bind/open.h"
#include "bind/state.h"
#include "bind/type.h"
#include "bind/view.h"
#include "state/state.h"
#include "state/state_options.h"
#include "os/os.h"

/* Bytes on their way from a file to the store. A large file is still being read
   while its messages go to the store; then `reader` has the bytes too. */
typedef struct Loaded {
  Memory memory;
  char *bytes;
  size_t size, capacity;
  FileReader reader;
  FileAhead *ahead;          /* NULL: all bytes are there */
} Loaded;

static void end_reading(Loaded *loaded) {
  if (loaded->ahead == NULL) return;
  file_ahead_end(loaded->ahead);
  loaded->ahead = NULL;
  loaded->reader.bytes = NULL;
  file_close(&loaded->reader);
}

static void end_loaded(void *block) {
  Loaded *loaded = block;
  end_reading(loaded);
  memory_free(&loaded->memory, loaded->bytes, loaded->capacity);
  loaded->bytes = NULL;
}

static Loaded *push_loaded(lua_State *L) {
  Loaded *loaded = bind_own(L, sizeof *loaded, end_loaded);
  loaded->memory = bind_conversation_memory(L);
  return loaded;
}

static size_t size_field(lua_State *L, int options, const char *name, size_t otherwise) {
  if (lua_isnoneornil(L, options) || !bind_field(L, options, name)) return otherwise;
  size_t size = (size_t)bind_integer(L, -1, name, 1, INT64_MAX);
  lua_pop(L, 1);
  return size;
}

static int refuse_document(lua_State *L, const char *name, const DocumentError *error) {
  bool is_full = error->status == STATUS_MEMORY;
  lua_pushfstring(L, "%s:%I:%I: %s%s", name, (lua_Integer)error->place.line, (lua_Integer)error->place.byte,
                  is_full ? "not enough memory" : "expected ", is_full ? "" : error->expected);
  if (error->path[0] != '\0') lua_pushfstring(L, "%s at %s", lua_tostring(L, -1), error->path);
  return bind_refuse(L, status_code(error->status), lua_tostring(L, -1));
}

static DocumentLimits read_limits(lua_State *L, int options) {
  DocumentLimits limits = {.message_bytes_max = size_field(L, options, "max_message", MESSAGE_BYTES_MAX),
                           .file_bytes_max = size_field(L, options, "max_file", FILE_BYTES_MAX)};
  if (!lua_isnoneornil(L, options)) limits.lenient = bind_flag_field(L, options, "lenient", false);
  bind_read_aliases(L, options, &limits);
  return limits;
}

/* Waits for the rest of the bytes. */
static Status read_to_end(Loaded *loaded) {
  size_t available = 0;
  if (loaded->ahead == NULL) return STATUS_OK;
  Status status;
  do status = file_ahead_wait(loaded->ahead, &available, &loaded->size);
  while (status == STATUS_OK && available < loaded->size);
  return status;
}

/* Standard input cannot be read again: what it had goes out behind the error, as the third result, unless it was
   over a cap. The bytes are all there. */
static int refuse_standard_input(lua_State *L, const Loaded *from, const DocumentError *error) {
  int results = refuse_document(L, "stdin", error);
  if (error->status == STATUS_LIMIT || error->status == STATUS_MEMORY) return results;
  lua_pushlstring(L, from->size == 0 ? "" : from->bytes, from->size);
  return results + 1;
}

static int refuse_misplaced(lua_State *L, const char *name, const char *expected) {
  DocumentError error = {.status = STATUS_SHAPE, .place = {1, 1}, .expected = expected};
  return refuse_document(L, name, &error);
}

enum { OPTIONS = 2, RESOLVE, LOADED };   /* stack indices */

/* The bytes are those of a saved conversation. */
static int load_state(lua_State *L, const char *name, const Loaded *from, const DocumentLimits *limits) {
  if (from->size > limits->file_bytes_max) {
    DocumentError error = document_over_cap();
    return refuse_document(L, name, &error);
  }
  if (lua_isnil(L, RESOLVE)) return refuse_misplaced(L, name, "messages; ebb_chat_load reads a saved chat");
  return bind_load_state(L, name, text_plain(from->bytes, from->size),
                         limits->lenient ? STATE_READ_LENIENT : STATE_READ_STRICT, RESOLVE);
}

/* Ends the loading of messages into the conversation at that stack index. */
static int end_load(lua_State *L, const char *name, int conversation) {
  ConversationHandle *handle = bind_check_conversation(L, conversation);
  const Memory *memory = conversation_memory(handle->conversation);
  bool is_state = false;
  Status status = state_is_reordered(&handle->document, memory, &is_state);
  if (is_state) return refuse_misplaced(L, name, "\"ebb\" as the first member of a saved conversation");
  if (status == STATUS_OK)
    status = document_keep(&handle->document, &handle->warnings, memory, conversation_store(handle->conversation),
                           &handle->envelope);
  if (status == STATUS_OK) status = conversation_describe_tools(handle->conversation);
  if (status != STATUS_OK) return bind_raise_edit(L, conversation, status, "load");
  lua_settop(L, conversation);
  return 1;
}

/* Pushes the conversation of what is loaded, or nil, error, and the text of standard input, whose name is NULL. */
static int load(lua_State *L, const char *name, const DocumentLimits *limits) {
  Loaded *from = bind_test_owned(L, LOADED, end_loaded);
  if (state_begins(from->bytes, from->size)) return load_state(L, name == NULL ? "stdin" : name, from, limits);
  ConversationHandle *handle = bind_new_conversation(L);
  int conversation = lua_gettop(L);
  bind_configure(L, conversation, OPTIONS);
  handle->callbacks->self = conversation;
  DocumentError error;
  Status status = document_load(handle->conversation, limits, from->bytes, from->size, from->capacity,
                                &handle->document, &handle->warnings, &error);
  int cause = errno;
  if (status != STATUS_OK && name == NULL && read_to_end(from) != STATUS_OK) status = STATUS_IO, cause = errno;
  end_reading(from);
  if (status == STATUS_OK) {
    from->bytes = NULL;      /* the store's now */
    return end_load(L, name == NULL ? "stdin" : name, conversation);
  }
  if (status == STATUS_HOST) return bind_raise_edit(L, conversation, status, "load");
  /* Its messages point into bytes that are freed: it must not be used again. */
  conversation_free(handle->conversation);
  handle->conversation = NULL;
  errno = cause;
  if (status == STATUS_IO) return bind_refuse_file(L, status, name == NULL ? "-" : name, SIZE_MAX);
  return name == NULL ? refuse_standard_input(L, from, &error) : refuse_document(L, name, &error);
}

enum { PEEK_FIRST = 64 * 1024 };   /* bytes that mostly tell what a file is */

static Status wait_ahead(void *user, size_t *have, size_t *size) { return file_ahead_wait(user, have, size); }

/* As document_cap, for what may also be a saved conversation. */
static bool cap_of(const DocumentLimits *limits, const FileReader *reader, size_t *cap, size_t *needed) {
  if (!state_begins(reader->bytes, reader->size)) return document_cap(limits, reader->bytes, reader->size, cap, needed);
  *cap = limits->file_bytes_max + (limits->file_bytes_max < SIZE_MAX / 2);      /* one byte more is refused */
  return true;
}

/* JSONL has no cap; arrays, bodies and saved conversations are held against theirs, and a first
   message against its own, before more than what tells them is read. */
static Status read_within(Loaded *loaded, DocumentLimits *limits, bool *over_cap) {
  FileReader *reader = &loaded->reader;
  size_t cap = SIZE_MAX, peek_size = PEEK_FIRST, size;
  do {
    size = peek_size;
    Status status = file_peek(reader, size);
    if (status != STATUS_OK) return status;
  } while (reader->size >= size && !cap_of(limits, reader, &cap, &peek_size));
  if (cap <= reader->size) return STATUS_OK;   /* these bytes are refused */
  if (cap == SIZE_MAX) loaded->ahead = file_ahead_start(reader);
  if (loaded->ahead != NULL) {
    limits->coming = (DocumentComing){.wait = wait_ahead, .user = loaded->ahead};
    return STATUS_OK;
  }
  Status status = file_rest(reader, cap);
  *over_cap = status == STATUS_LIMIT;
  return status;
}

static Status read_file(const char *path, DocumentLimits *limits, Loaded *loaded, bool *over_cap) {
  FileReader *reader = &loaded->reader;
  *over_cap = false;
  Status status = file_open(reader, &loaded->memory, path);
  if (status != STATUS_OK) return status;
  status = read_within(loaded, limits, over_cap);
  if (status == STATUS_OK && reader->capacity > 0) {
    loaded->bytes = reader->bytes;
    loaded->size = loaded->ahead != NULL ? reader->left : reader->size;
    loaded->capacity = reader->capacity;
    if (loaded->ahead == NULL) reader->bytes = NULL;     /* loaded has them */
  }
  if (loaded->ahead == NULL) file_close(reader);
  return status;
}

/* load(path, options, resolve) -> Conversation | nil, error | nil, error, text of standard input */
static int l_load(lua_State *L) {
  const char *path = bind_path(L, 1);
  bool is_standard = strcmp(path, "-") == 0;
  bool over_cap;
  lua_settop(L, RESOLVE);
  Loaded *loaded = push_loaded(L);
  DocumentLimits limits = read_limits(L, OPTIONS);
  Status status = read_file(path, &limits, loaded, &over_cap);
  if (over_cap) {
    DocumentError error = document_over_cap();
    return refuse_document(L, is_standard ? "stdin" : path, &error);
  }
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, SIZE_MAX);
  return load(L, is_standard ? NULL : path, &limits);
}

int bind_parse(lua_State *L, Text text) {
  lua_settop(L, RESOLVE);
  Loaded *loaded = push_loaded(L);
  DocumentLimits limits = read_limits(L, OPTIONS);
  if (text.size > 0) {
    loaded->bytes = memory_new(&loaded->memory, text.size);
    if (loaded->bytes == NULL) return bind_raise_status(L, STATUS_MEMORY, "parse");
    memcpy(loaded->bytes, text.bytes, text.size);
    loaded->size = loaded->capacity = text.size;
  }
  return load(L, "text", &limits);
}

int bind_parse_buffer(lua_State *L, Buffer *text, size_t size, Text envelope, const DocumentMessages *messages) {
  Loaded *loaded = push_loaded(L);
  lua_insert(L, LOADED);                     /* conversation options nil loaded ... */
  DocumentLimits limits = read_limits(L, OPTIONS);
  limits.envelope = envelope;
  limits.messages = messages;
  assert(size <= text->size && lua_isnil(L, RESOLVE) && text->memory.user == loaded->memory.user);
  buffer_trim(text);
  loaded->bytes = text->bytes;
  loaded->size = size;
  loaded->capacity = text->capacity;
  buffer_init(text, text->memory);           /* the bytes are no longer its own */
  return load(L, "text", &limits);
}

/* parse(text, options, resolve) -> Conversation | nil, error */
static int l_parse(lua_State *L) { return bind_parse(L, bind_text(L, 1)); }

/* Pushes what a warning says, and its code. What was mended or left out says so. */
static const char *push_warning(lua_State *L, const DocumentWarning *warning) {
  bind_push_text(L, warning->kind);
  const char *kind = lua_tostring(L, -1), *code = "unknown_part";
  switch (warning->what) {
  case ODD_PART: lua_pushfstring(L, "a content part has the unknown type '%s'", kind); break;
  case ODD_RECORD:
    code = status_code(warning->status);
    lua_pushfstring(L, "skipped (%s): expected %s", code, warning->expected);
    break;
  case ODD_TEXT:
    code = status_code(STATUS_ENCODING);
    lua_pushliteral(L, "mended (encoding): invalid text was replaced by U+FFFD");
    break;
  case ODD_KEY:
    code = status_code(STATUS_DUPLICATE);
    lua_pushfstring(L, "mended (%s): '%s' comes again, and the last one counts", code, kind);
    break;
  case ODD_MARK:
    code = status_code(STATUS_SYNTAX);
    lua_pushfstring(L, "mended (%s): more than one byte order mark; the first is kept", code);
    break;
  case ODD_DIGEST:
    code = "damaged";
    lua_pushliteral(L, "kept (damaged): the digest differs, so this may not be what was saved");
    break;
  case ODD_ID:
    code = status_code(STATUS_DUPLICATE);
    lua_pushfstring(L, "kept (%s): another message has the id '%s'", code, kind);
    break;
  }
  lua_replace(L, -2);
  return code;
}

/* conversation:warnings() -> list of {code, message, line, byte, lenient} */
static int l_warnings(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  lua_newtable(L);
  for (uint32_t i = 0; i < handle->warnings.count; i++) {
    const DocumentWarning *warning = &handle->warnings.list[i];
    lua_createtable(L, 0, 5);
    const char *code = push_warning(L, warning);
    lua_setfield(L, -2, "message");
    bind_set_text(L, "code", text_of(code));
    bind_set_integer(L, "line", (lua_Integer)warning->place.line);
    bind_set_integer(L, "byte", (lua_Integer)warning->place.byte);
    lua_pushboolean(L, warning->what != ODD_PART);
    lua_setfield(L, -2, "lenient");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- writing ---- */

const char *const BIND_TOO_DEEP =
    "a message would stand more than 256 levels deep (as JSONL it would stand less deep)";

static Status add_to_buffer(void *user, const char *bytes, size_t size) { return buffer_add(user, bytes, size); }

/* Runs below the core, so Lua is not asked. */
static Text text_of_item(void *user, MessageId id) {
  const WindowTable *table = user;
  Text name = message_content(conversation_message(table->conversation, id));
  uint32_t index = windows_find(conversation_windows(table->conversation), name);
  return index == WINDOW_NONE ? text_plain("", 0) : table->texts[index];
}

/* Texts from the table at `from`, in a block left on the stack. */
static const Text *push_texts(lua_State *L, int from, const Windows *windows) {
  uint32_t count = windows_count(windows);
  Text *texts = lua_newuserdatauv(L, count * sizeof *texts + 1, 0);
  for (uint32_t i = 0; i < count; i++) {
    bind_push_text(L, windows_at(windows, i)->texts[WINDOW_ID]);
    texts[i] = lua_rawget(L, from) == LUA_TSTRING ? bind_text(L, -1) : text_plain("", 0);
    lua_pop(L, 1);
  }
  return texts;
}

static int compare_ids(const void *a, const void *b) {
  MessageId first = ((const MessageText *)a)->id, second = ((const MessageText *)b)->id;
  return (first > second) - (first < second);
}

static const Text *text_instead(void *user, MessageId id) {
  const WindowTable *table = user;
  MessageText key = {.id = id};
  const MessageText *found =
    table->message_count == 0 ? NULL : bsearch(&key, table->messages, table->message_count, sizeof key, compare_ids);
  return found == NULL ? NULL : &found->text;
}

/* Texts of messages, by seq, from the table at `from`, in a block left on the stack. */
static void push_message_texts(lua_State *L, int from, WindowTable *table) {
  uint32_t count = 0, filled = 0;
  for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1)) count += (uint32_t)lua_isinteger(L, -2);
  if (count == 0) return;
  MessageText *texts = lua_newuserdatauv(L, count * sizeof *texts, 0);
  for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1)) {
    if (!lua_isinteger(L, -2)) continue;
    texts[filled++] = (MessageText){.id = (MessageId)lua_tointeger(L, -2), .text = bind_text(L, -1)};
  }
  assert(filled == count);
  qsort(texts, count, sizeof *texts, compare_ids);
  table->messages = texts;
  table->message_count = count;
}

void bind_view_texts(lua_State *L, ViewTexts *texts, const View *view, int index) {
  *texts = (ViewTexts){.has = lua_istable(L, index), .table.conversation = view->conversation};
  if (texts->has) {
    texts->table.texts = push_texts(L, index, conversation_windows(view->conversation));
    push_message_texts(L, index, &texts->table);
  }
  texts->windows = (WindowTexts){.text = text_of_item, .instead = text_instead, .user = &texts->table};
}

/* How a view is written. What may raise comes first. */
typedef struct ViewWriter {
  const View *view;
  ViewTexts texts;
} ViewWriter;

static void prepare_writer(lua_State *L, ViewWriter *writer, const View *view, int texts) {
  writer->view = view;
  bind_view_texts(L, &writer->texts, view, texts);
}

static Status write_view(const ViewWriter *writer, const Document *document, Sink sink) {
  const View *view = writer->view;
  const WindowTexts *windows = writer->texts.has ? &writer->texts.windows : NULL;
  return document_write_windows(document, view->conversation, view->list, windows, sink);
}

Status bind_write_list(lua_State *L, const Document *document, Sink sink) {
  View view = bind_view(L, 1);
  ViewWriter writer;
  prepare_writer(L, &writer, &view, 2);
  return write_view(&writer, document, sink);
}

/* What is written: the visible messages, or, with the options at `saved`, the whole conversation. */
static Status write_as(lua_State *L, const ViewWriter *writer, const Document *document, int saved, Sink sink) {
  if (lua_isnil(L, saved)) return write_view(writer, document, sink);
  Memory memory = bind_memory(L);
  return bind_write_state(writer->view->handle, &memory, bind_text(L, saved), sink);
}

static int push_json(lua_State *L) {
  View view = bind_view(L, 1);
  ViewWriter writer;
  lua_settop(L, 3);
  Buffer *out = bind_buffer(L);
  prepare_writer(L, &writer, &view, 2);
  Status status = write_as(L, &writer, &view.handle->document, 3, (Sink){.write = add_to_buffer, .user = out});
  if (status == STATUS_LIMIT) return bind_raise(L, "limit", NULL, "json: %s", BIND_TOO_DEEP);
  if (status != STATUS_OK) return bind_raise_status(L, status, "json");
  lua_pushlstring(L, out->size == 0 ? "" : out->bytes, out->size);
  return 1;
}

/* conversation:json(texts, saved) -> text */
static int l_json(lua_State *L) { return push_json(L); }

/* list_json(list, texts, saved) -> text */
static int l_list_json(lua_State *L) { return push_json(L); }

static Status add_to_file(void *user, const char *bytes, size_t size) { return file_gather(user, bytes, size); }

/* The document to write by: its own, or a new one of the shape asked for. What a dialect asks for, Lua has done. */
static Document document_of(lua_State *L, const ConversationHandle *handle) {
  static const char *const names[] = {"dialect", "shape", "unchanged", NULL};
  static const char *const shapes[] = {"array", "jsonl", "body", NULL};
  if (lua_isnil(L, 3)) return handle->document;
  bind_check_names(L, 3, NULL, names);
  if (!bind_field(L, 3, "shape")) return handle->document;
  static const DocumentShape values[] = {DOCUMENT_ARRAY, DOCUMENT_JSONL, DOCUMENT_BODY};
  DocumentShape shape = values[bind_choice(L, -1, "shape", -1, shapes)];
  bool same = handle->document.loaded && handle->document.shape == shape;
  if (!same && shape == DOCUMENT_BODY) {
    bind_raise_argument(L, "argument", "array and jsonl need no body", "shape: the conversation was read from no body");
  }
  return same ? handle->document : document_new(shape);
}

/* True if the options at 3 name the state in which the file must be. */
static bool read_unchanged(lua_State *L, FileIdentity *unchanged) {
  if (lua_isnil(L, 3) || !bind_field(L, 3, "unchanged")) return false;
  *unchanged = bind_file_identity(L, -1);
  return true;
}

/* conversation:save(path, options, texts, saved) -> true, what is lost of the old file | nil, error. In the place of
   texts may stand the text of the whole file. */
static int l_save(lua_State *L) {
  View view = bind_view(L, 1);
  const char *path = bind_path(L, 2);
  lua_settop(L, 5);
  Document document = document_of(L, view.handle);
  FileIdentity unchanged;
  bool guarded = read_unchanged(L, &unchanged);
  Memory memory = bind_memory(L);
  ViewWriter writer;
  FileWriter file;
  Text whole = lua_type(L, 4) == LUA_TSTRING ? bind_text(L, 4) : text_plain(NULL, 0);
  prepare_writer(L, &writer, &view, 4);
  Status status = file_create(&file, &memory, path);
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, 0);
  FileGather gather;
  file_gather_begin(&gather, &file);
  if (whole.bytes != NULL) status = file_write(&file, whole.bytes, whole.size);
  else status = write_as(L, &writer, &document, 5, (Sink){.write = add_to_file, .user = &gather});
  if (status == STATUS_OK) status = file_gather_flush(&gather);
  if (status == STATUS_LIMIT) {
    file_abandon(&file);
    return bind_refuse(L, "limit", lua_pushfstring(L, "%s: %s", path, BIND_TOO_DEEP));
  }
  return bind_end_file(L, &file, status, guarded ? &unchanged : NULL, path);
}

void bind_open_load(lua_State *L) {
  static const BindMethod methods[] = {
    {"json", l_json, "texts saved", CHARGE_LIST},
    {"save", l_save, "path options texts saved", CHARGE_NEVER},
    {"warnings", l_warnings, "", CHARGE_LIST},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"load", l_load, "path options resolve", CHARGE_NEVER},
    {"parse", l_parse, "text options resolve", CHARGE_TEXT},
    {"list_json", l_list_json, "list texts saved", CHARGE_LIST},
    BIND_END,
  };
  bind_methods(L, &BIND_CONVERSATION, methods);
  bind_functions(L, "ebb", functions);
}
