/*
** Vocabularies as files: made from what others publish, described, verified.
*/
#include <errno.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/vocab.h"
#include "codec/sha256.h"
#include "tokens/vocab/tokenizer_json.h"
#include "json/source_position.h"
#include "os/os.h"
#include "tokens/pretoken/regex_cut.h"
#include "tokens/vocab/vocab_text.h"

/* ---- making ---- */

/* What is asked for, and what is found on the way; the strings live on the stack. */
typedef struct Making {
  const char *file;          /* as errors call it */
  Text text;
  VocabSource source;
  Buffer *image;
  Buffer *regex;             /* stages that the caller gave */
  char message[400];         /* after a refusal */
} Making;

static Status refuse_text(Making *m, Status status, const VocabTextError *error) {
  snprintf(m->message, sizeof m->message, "%s:%u: expected %s", m->file, (unsigned)error->line, error->expected);
  return status;
}

static Status refuse_json(Making *m, const TokenizerJsonError *error) {
  SourcePosition place = source_position(m->text.bytes, m->text.size, error->offset);
  bool named = error->name[0] != '\0';
  snprintf(m->message, sizeof m->message, "%s:%llu:%llu: expected %s%s%s", m->file, (unsigned long long)place.line,
           (unsigned long long)place.byte, error->expected, named ? ", not " : "", error->name);
  return error->status;
}

static Status refuse_problem(Making *m, Status status, const VocabProblem *problem) {
  char which[40] = "";
  if (problem->token != UINT32_MAX) {
    snprintf(which, sizeof which, ": token %u", (unsigned)m->source.tokens[problem->token].id);
  } else if (problem->merge != UINT32_MAX) {
    snprintf(which, sizeof which, ": merge %u", (unsigned)problem->merge + 1);
  }
  snprintf(m->message, sizeof m->message, "%s%s: expected %s", m->file, which, problem->expected);
  return status;
}

static Status check_regex(Making *m, const Memory *memory) {
  RegexCut *cut = NULL;
  RegexCutError error;
  if (m->source.pattern != PRETOKEN_REGEX) return STATUS_OK;
  Status status = regex_cut_new(memory, m->source.regex, &cut, &error);
  regex_cut_free(cut);
  if (status == STATUS_ARGUMENT) {
    snprintf(m->message, sizeof m->message, "%s: expression %u, byte %zu: %s", m->file, error.stage + 1,
             error.regex.offset + 1, error.regex.message);
  } else if (status == STATUS_LIMIT) {
    snprintf(m->message, sizeof m->message, "%s: expected at most %d expressions of %d bytes", m->file,
             REGEX_STAGES_MAX, REGEX_PATTERN_MAX);
  }
  return status;
}

static Status build(Making *m, const Memory *memory) {
  VocabProblem problem;
  Status status = check_regex(m, memory);
  if (status != STATUS_OK) return status;
  sha256(m->text.bytes, m->text.size, m->source.sha256);
  status = vocab_build(memory, &m->source, m->image, &problem);
  return status == STATUS_OK || status == STATUS_MEMORY ? status : refuse_problem(m, status, &problem);
}

static Status build_text(Making *m, const Memory *memory) {
  VocabText text;
  VocabTextError error;
  Status status = vocab_text_read(memory, m->text.bytes, m->text.size, &text, &error);
  m->source.tokens = text.tokens;
  m->source.count = text.count;
  m->source.wholes = true;
  if (status == STATUS_OK) status = build(m, memory);
  else if (status != STATUS_MEMORY) status = refuse_text(m, status, &error);
  vocab_text_free(&text);
  return status;
}

/* Builds an image from a tokenizer.json; `has_pattern`: the caller's pattern replaces that of the file. */
static Status build_json(Making *m, const Memory *memory, bool composed, bool has_pattern) {
  static const VocabMerge none;
  TokenizerJson json;
  TokenizerJsonError error;
  Status status = tokenizer_json_read(memory, m->text.bytes, m->text.size, composed, &json, &error);
  m->source.tokens = json.tokens;
  m->source.count = json.count;
  m->source.merges = json.merges != NULL ? json.merges : &none;
  m->source.merge_count = json.merge_count;
  m->source.wholes = json.wholes;
  m->source.atoms = json.atoms;
  m->source.atom_count = json.atom_count;
  m->source.forms = json.forms;
  if (status == STATUS_OK && has_pattern && json.pattern == PRETOKEN_BORDERS) {
    snprintf(m->message, sizeof m->message, "%s: expected no pattern for a model that merges whole texts", m->file);
    tokenizer_json_free(&json);
    return STATUS_ARGUMENT;
  }
  if (!has_pattern) {
    m->source.pattern = json.pattern;
    m->source.regex = json.regex.bytes;
    m->source.regex_size = json.regex.size;
  }
  if (status == STATUS_OK) status = build(m, memory);
  else if (status != STATUS_MEMORY) status = refuse_json(m, &error);
  tokenizer_json_free(&json);
  return status;
}

/* The name of a pattern, or an expression. */
static bool read_pattern(lua_State *L, Making *m) {
  if (!bind_field(L, 2, "pattern")) return false;
  Text pattern = bind_text(L, -1);
  if (strlen(pattern.bytes) != pattern.size || pattern.size == 0) {
    bind_raise_argument(L, "argument", NULL, "pattern: an expression without NUL is expected");
  }
  if (pretoken_pattern_parse(pattern.bytes, &m->source.pattern) && m->source.pattern != PRETOKEN_REGEX) return true;
  m->source.pattern = PRETOKEN_REGEX;
  m->regex = bind_buffer(L);
  Status status = buffer_add(m->regex, pattern.bytes, pattern.size);
  if (status == STATUS_OK) status = buffer_add(m->regex, "\0", 2);
  if (status != STATUS_OK) bind_raise_status(L, status, "pattern");
  m->source.regex = m->regex->bytes;
  m->source.regex_size = m->regex->size;
  return true;
}

static const char *string_field(lua_State *L, const char *name) {
  if (!bind_field(L, 2, name)) bind_raise_argument(L, "argument", NULL, "%s: a string is expected", name);
  return bind_string(L, -1, name);
}

/* build(text, options{file, name, pattern, json, composed}) -> image | nil, error */
static int l_build(lua_State *L) {
  static const char *const names[] = {"file", "name", "pattern", "json", "composed", NULL};
  Making m = {.text = bind_text(L, 1)};
  bind_check_names(L, 2, NULL, names);
  lua_settop(L, 2);
  m.file = string_field(L, "file");
  m.source.name = string_field(L, "name");
  if (!vocab_name_fits(m.source.name)) {
    bind_raise_argument(L, "argument", "a name is up to 63 letters, digits, '.', '_' or '-'", "'%s' is not a name",
                        m.source.name);
  }
  bool json = bind_flag_field(L, 2, "json", false), composed = bind_flag_field(L, 2, "composed", false);
  bool has_pattern = read_pattern(L, &m);
  if (!json && !has_pattern)
    return bind_raise_argument(L, "argument", "cl100k, o200k, gpt2 or an expression", "a pattern is needed");
  m.image = bind_buffer(L);
  Memory memory = bind_memory(L);
  Status status = json ? build_json(&m, &memory, composed, has_pattern) : build_text(&m, &memory);
  if (status == STATUS_MEMORY) return bind_raise_status(L, status, "vocabulary");
  if (status != STATUS_OK) return bind_refuse(L, status_code(status), m.message);
  lua_pushlstring(L, m.image->bytes, m.image->size);
  return 1;
}

/* ---- reading ---- */

static void end_vocab(void *block) { vocab_release(*(Vocab **)block); }

Vocab **bind_hold_vocab(lua_State *L) { return bind_own(L, sizeof(Vocab *), end_vocab); }

int bind_refuse_vocab(lua_State *L, Status status, const char *path) {
  if (status == STATUS_MEMORY) return bind_raise_status(L, status, "vocabulary");
  const char *why = status == STATUS_SYNTAX ? "not a vocabulary of this version of ebb, or a damaged one"
                  : status == STATUS_LIMIT  ? "it is too large"
                                            : strerror(errno);
  const char *code = status == STATUS_SYNTAX ? "damaged" : status_code(status);
  return bind_refuse(L, code, lua_pushfstring(L, "%s: %s", path, why));
}

/* As vocab_open, with the identity as a word; empty if it is unknown. */
static Status open_image(const Memory *memory, const char *path, char word[VOCAB_IDENTITY_SIZE], Vocab **vocab) {
  FileIdentity file;
  word[0] = '\0';
  Status status = vocab_open(memory, path, &file, vocab);
  if (status != STATUS_OK || file.size == 0) return status;
  snprintf(word, VOCAB_IDENTITY_SIZE, "%llx:%llx:%llu:%lld.%09lld", (unsigned long long)file.device,
           (unsigned long long)file.inode, (unsigned long long)file.size, (long long)file.modified_s,
           (long long)file.modified_ns);
  return STATUS_OK;
}

/* True if the lines have that of the identity. */
static bool was_checked(const char *lines, const char *identity) {
  char line[VOCAB_IDENTITY_SIZE + 8];
  snprintf(line, sizeof line, "sum %s\n", identity);
  return identity[0] != '\0' && strstr(lines, line) != NULL;
}

Status bind_open_image(lua_State *L, const char *path, int index, char identity[VOCAB_IDENTITY_SIZE], Vocab **vocab) {
  Memory memory = bind_memory(L);
  bool is_text = lua_type(L, index) == LUA_TSTRING;
  if (!is_text && !lua_isnil(L, index)) bind_raise_type(L, index, NULL, "lines of identities");
  const char *lines = is_text ? bind_text(L, index).bytes : "";
  Status status = open_image(&memory, path, identity, vocab);
  return status == STATUS_OK && !was_checked(lines, identity) ? vocab_check_sum(*vocab) : status;
}

static void push_regexes(lua_State *L, const char *at) {
  lua_newtable(L);
  for (lua_Integer i = 1; *at != '\0'; at += strlen(at) + 1, i++) {
    lua_pushstring(L, at);
    lua_rawseti(L, -2, i);
  }
}

/* Pushes what an open vocabulary says of itself. */
static void push_description(lua_State *L, const Vocab *vocab) {
  const char *regex = vocab_regex(vocab);
  lua_createtable(L, 0, 7);
  bind_set_text(L, "name", text_of(vocab_name(vocab)));
  bind_set_text(L, "pattern", text_of(regex != NULL ? "regex" : pretoken_pattern_name(vocab_pattern(vocab))));
  bind_set_integer(L, "tokens", vocab_tokens(vocab));
  bind_set_integer(L, "size", vocab_size(vocab));
  bind_set_integer(L, "bytes", (lua_Integer)vocab_bytes(vocab));
  bind_push_digest(L, vocab_source(vocab));
  lua_setfield(L, -2, "source");
  if (regex == NULL) return;
  push_regexes(L, regex);
  lua_setfield(L, -2, "regexes");
}

/* describe(path, checked | nil) -> {name, tokens, size, pattern, regexes, bytes, source}, identity
   | nil, error; `checked` and `identity` as for core.tokenizer */
static int l_describe(lua_State *L) {
  const char *path = bind_path(L, 1);
  char identity[VOCAB_IDENTITY_SIZE];
  lua_settop(L, 2);
  Vocab **slot = bind_hold_vocab(L);
  Status status = bind_open_image(L, path, 2, identity, slot);
  if (status != STATUS_OK) return bind_refuse_vocab(L, status, path);
  push_description(L, *slot);
  lua_pushstring(L, identity);
  return 2;
}

/* verify(path) -> true, digest of all tokens as a .tiktoken file, identity | nil, error */
static int l_verify(lua_State *L) {
  const char *path = bind_path(L, 1);
  uint8_t digest[32];
  char identity[VOCAB_IDENTITY_SIZE];
  lua_settop(L, 1);
  Vocab **slot = bind_hold_vocab(L);
  Memory memory = bind_memory(L);
  Status status = open_image(&memory, path, identity, slot);
  if (status == STATUS_OK) status = vocab_verify(*slot);
  if (status == STATUS_OK) status = vocab_tokens_digest(&memory, *slot, digest);
  if (status != STATUS_OK) return bind_refuse_vocab(L, status, path);
  lua_pushboolean(L, 1);
  bind_push_digest(L, digest);
  lua_pushstring(L, identity);
  return 3;
}

/* ---- where this library lies ---- */

/* home() -> the path of the command or the module | nil */
static int l_home(lua_State *L) {
  char path[4096];
  size_t size = program_path(path, sizeof path);
  if (size > 0) lua_pushlstring(L, path, size);
  else lua_pushnil(L);
  return 1;
}

void bind_open_vocab(lua_State *L) {
  static const BindMethod functions[] = {
    {"build", l_build, "text options", CHARGE_NEVER},
    {"describe", l_describe, "path checked", CHARGE_NEVER},
    {"verify", l_verify, "path", CHARGE_NEVER},
    {"home", l_home, "", CHARGE_NEVER},
    BIND_END,
  };
  lua_newtable(L);
  bind_functions(L, "core.vocab", functions);
}
