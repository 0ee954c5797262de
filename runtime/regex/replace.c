#include "regex/replace.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

typedef enum TemplatePieceKind { LITERAL, GROUP, BEFORE, BEHIND } TemplatePieceKind;

typedef struct TemplatePiece {
  TemplatePieceKind kind;
  unsigned group;            /* 0: the whole match */
  size_t at, size;           /* in the replacement */
} TemplatePiece;

struct RegexTemplate {
  Memory memory;
  char *bytes;               /* the replacement, then the trims */
  size_t size, text_size;
  TemplatePiece *pieces;
  uint32_t count, room;
  unsigned trim_count;
  Text trims[REGEX_TRIMS_MAX];
};

/* ---- reading a replacement ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads "$12": a group, by as many digits as are a valid number. */
static size_t read_digits(const Regex *regex, const char *at, const char *end, TemplatePiece *piece) {
  unsigned groups = regex_groups(regex), one = (unsigned)(at[1] - '0');
  if (end - at > 2 && is_digit(at[2])) {
    unsigned two = one * 10 + (unsigned)(at[2] - '0');
    if (two >= 1 && two <= groups) {
      piece->group = two;
      return 3;
    }
  }
  piece->group = one;
  return one >= 1 && one <= groups ? 2 : 0;
}

static bool read_number(const char *at, const char *end, unsigned groups, unsigned *number) {
  *number = 0;
  if (at == end) return false;
  for (; at < end; at++) {
    if (!is_digit(*at)) return false;
    *number = *number * 10 + (unsigned)(*at - '0');
    if (*number > groups) return false;
  }
  return true;
}

/* Reads "${1}", "${name}", "$<name>". */
static size_t read_named(const Regex *regex, const char *at, const char *end, TemplatePiece *piece) {
  bool angle = at[1] == '<';
  const char *name = at + 2, *close = memchr(name, angle ? '>' : '}', (size_t)(end - name));
  if (close == NULL || (angle && !regex_has_names(regex))) return 0;
  size_t taken = (size_t)(close - at) + 1;
  if (!angle && read_number(name, close, regex_groups(regex), &piece->group)) return taken;
  piece->group = regex_group(regex, name, (size_t)(close - name));
  if (piece->group > 0) return taken;
  piece->kind = LITERAL;
  piece->size = 0;           /* an unknown name in <> expands to nothing */
  return angle ? taken : 0;
}

/* Reads the piece that the dollar sign at `at` begins. Returns its size, or 0 for a
   plain dollar sign. */
static size_t read_dollar(const Regex *regex, const char *at, const char *end, TemplatePiece *piece) {
  if (end - at < 2) return 0;
  piece->kind = GROUP;
  switch (at[1]) {
  case '$':
    piece->kind = LITERAL;
    piece->size = 1;
    return 2;
  case '&':
    piece->group = 0;
    return 2;
  case '`':
    piece->kind = BEFORE;
    return 2;
  case '\'':
    piece->kind = BEHIND;
    return 2;
  case '<': case '{': return read_named(regex, at, end, piece);
  default: return is_digit(at[1]) ? read_digits(regex, at, end, piece) : 0;
  }
}

static Status add_piece(RegexTemplate *template, TemplatePiece piece) {
  assert(piece.at + piece.size <= template->text_size);
  if (piece.kind == LITERAL && piece.size == 0) return STATUS_OK;
  TemplatePiece *pieces =
    memory_grow(&template->memory, template->pieces, &template->room, template->count, sizeof *pieces);
  if (pieces == NULL) return STATUS_MEMORY;
  template->pieces = pieces;
  pieces[template->count++] = piece;
  return STATUS_OK;
}

/* Splits the replacement into literals and references. STATUS_MEMORY. */
static Status read_pieces(RegexTemplate *template, const Regex *regex) {
  if (template->text_size == 0) return STATUS_OK;
  const char *end = template->bytes + template->text_size;
  const char *plain = template->bytes;           /* start of the current literal */
  Status status = STATUS_OK;
  for (const char *at = template->bytes; status == STATUS_OK && at < end;) {
    TemplatePiece piece = {.at = (size_t)(at - template->bytes)};
    size_t taken = *at == '$' ? read_dollar(regex, at, end, &piece) : 0;
    if (taken == 0) {
      at++;
      continue;
    }
    if (piece.kind != LITERAL) piece.size = taken;
    status = add_piece(template, (TemplatePiece){LITERAL, 0, (size_t)(plain - template->bytes), (size_t)(at - plain)});
    if (status == STATUS_OK) status = add_piece(template, piece);
    plain = at += taken;
  }
  if (status != STATUS_OK) return status;
  return add_piece(template, (TemplatePiece){LITERAL, 0, (size_t)(plain - template->bytes), (size_t)(end - plain)});
}

static Status copy_texts(RegexTemplate *template, Text replacement, const Text *trims, unsigned trim_count) {
  size_t size = replacement.size;
  for (unsigned i = 0; i < trim_count; i++) size += trims[i].size;
  template->text_size = replacement.size;
  if (size == 0) return STATUS_OK;
  template->bytes = memory_new(&template->memory, size);
  if (template->bytes == NULL) return STATUS_MEMORY;
  template->size = size;
  char *at = template->bytes;
  if (replacement.size > 0) memcpy(at, replacement.bytes, replacement.size);
  at += replacement.size;
  for (unsigned i = 0; i < trim_count; i++) {
    if (trims[i].size == 0) continue;
    memcpy(at, trims[i].bytes, trims[i].size);
    template->trims[template->trim_count++] = text_plain(at, trims[i].size);
    at += trims[i].size;
  }
  return STATUS_OK;
}

static bool is_valid(Text text) { return utf8_check(text.bytes, text.size) == text.size; }

Status regex_template_new(const Regex *regex, Text replacement, const Text *trims, unsigned trim_count,
                          RegexTemplate **template) {
  if (trim_count > REGEX_TRIMS_MAX || replacement.size > REGEX_TEXT_MAX) return STATUS_LIMIT;
  bool valid = is_valid(replacement);
  for (unsigned i = 0; i < trim_count; i++) {
    if (trims[i].size > REGEX_PATTERN_MAX) return STATUS_LIMIT;
    valid = valid && is_valid(trims[i]);
  }
  if (!valid) return STATUS_ENCODING;
  RegexEngine *engine = regex_engine(regex);
  Memory memory = regex_engine_memory(engine);
  RegexTemplate *new = memory_new(&memory, sizeof *new);
  if (new == NULL) return STATUS_MEMORY;
  *new = (RegexTemplate){.memory = memory};
  Status status = copy_texts(new, replacement, trims, trim_count);
  if (status == STATUS_OK) status = read_pieces(new, regex);
  if (status == STATUS_OK) *template = new;
  else regex_template_free(new);
  return status;
}

void regex_template_free(RegexTemplate *template) {
  if (template == NULL) return;
  Memory memory = template->memory;
  memory_free(&memory, template->bytes, template->size);
  memory_free(&memory, template->pieces, template->room * sizeof *template->pieces);
  memory_free(&memory, template, sizeof *template);
}

/* ---- replacing ---- */

typedef struct Replacing {
  RegexEngine *engine;
  const RegexTemplate *template;
  Text text;
  Buffer *out;
} Replacing;

static Status put(const Replacing *r, const char *bytes, size_t size) {
  assert(r->out->size <= REGEX_TEXT_MAX);
  if (size > REGEX_TEXT_MAX - r->out->size) return regex_engine_limit(r->engine, REGEX_GROWTH);
  Status status = regex_engine_spend(r->engine, size + 1);
  return status == STATUS_OK ? buffer_add(r->out, bytes, size) : status;
}

/* Removes every occurrence of `trim` from the buffer's bytes behind `from`. */
static void take_out(Buffer *out, size_t from, Text trim) {
  assert(from <= out->size && trim.size > 0);
  char *to = out->bytes + from;
  const char *at = to, *end = out->bytes + out->size;
  while (at < end) {
    bool matches = (size_t)(end - at) >= trim.size && memcmp(at, trim.bytes, trim.size) == 0;
    if (matches) at += trim.size;
    else *to++ = *at++;
  }
  out->size = (size_t)(to - out->bytes);
}

static Status put_captured(const Replacing *r, const char *bytes, size_t size) {
  size_t from = r->out->size;
  Status status = put(r, bytes, size);
  for (unsigned i = 0; i < r->template->trim_count && status == STATUS_OK && r->out->size > from; i++) {
    status = regex_engine_spend(r->engine, (r->out->size - from) * 2);
    take_out(r->out, from, r->template->trims[i]);
  }
  return status;
}

static Status put_piece(const Replacing *r, const TemplatePiece *piece, const size_t *ends) {
  const char *written = r->template->bytes + piece->at;
  switch (piece->kind) {
  case BEFORE: return put(r, r->text.bytes, ends[0]);
  case BEHIND: return put(r, r->text.bytes + ends[1], r->text.size - ends[1]);
  case LITERAL: return put(r, written, piece->size);
  case GROUP: break;
  }
  size_t start = ends[2 * piece->group], end = ends[2 * piece->group + 1];
  if (start != REGEX_UNSET) return put_captured(r, r->text.bytes + start, end - start);
  return r->template->trim_count > 0 ? put(r, written, piece->size) : STATUS_OK;
}

static size_t character_size(Text text, size_t at) {
  size_t size = utf8_decode(text.bytes + at, text.bytes + text.size, NULL);
  return size > 0 ? size : 1;
}

/* True if every match is replaced by the same text. */
static bool is_constant(const RegexTemplate *template) {
  for (uint32_t i = 0; i < template->count; i++) {
    if (template->pieces[i].kind != LITERAL) return false;
  }
  return true;
}

/* Adds the pairs of what was put in between two offsets, and of the bytes around it, as far as they are there.
   `known`: those inside of it are there. */
static void add_pairs(RegexPairs *pairs, const Buffer *out, size_t from, size_t to, bool known) {
  if (pairs == NULL || out->size == 0) return;
  size_t first = from > 0 ? from - 1 : 0, end = to < out->size ? to + 1 : to;
  if (!known || to - from < 2) {
    regex_pairs_add(pairs, out->bytes + first, end - first);
    return;
  }
  regex_pairs_add(pairs, out->bytes + first, from + 1 - first);
  regex_pairs_add(pairs, out->bytes + to - 1, end - (to - 1));
}

static Status put_pieces(const Replacing *r, const size_t *ends) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < r->template->count && status == STATUS_OK; i++) {
    status = put_piece(r, &r->template->pieces[i], ends);
  }
  return status;
}

Status regex_replace(Regex *regex, const RegexTemplate *template, Text text, RegexPairs *pairs, Buffer *out,
                     uint32_t *count) {
  assert(text.bytes != NULL && !text.escaped);
  const Replacing r = {regex_engine(regex), template, text, out};
  size_t done = 0, from = 0;           /* end of the text copied so far; start of the next search */
  size_t put_from = 0, put_to = 0;     /* the last replacement, in *out */
  bool constant = is_constant(template);
  *count = 0;
  while (from <= text.size) {
    const size_t *ends;
    Status status = regex_find(regex, text.bytes, text.size, from, &ends);
    if (status != STATUS_OK) return status;
    if (ends == NULL) break;
    size_t start = ends[0], end = ends[1];
    if ((*count)++ == 0) buffer_reset(out);
    status = put(&r, text.bytes + done, start - done);
    if (status == STATUS_OK && *count > 1) add_pairs(pairs, out, put_from, put_to, constant && *count > 2);
    put_from = out->size;
    if (status == STATUS_OK) status = put_pieces(&r, ends);
    put_to = out->size;
    if (status != STATUS_OK) return status;
    done = end;
    from = end > start ? end : end + (end < text.size ? character_size(text, end) : 1);
    if ((regex_flags_of(regex) & REGEX_GLOBAL) == 0) break;
  }
  if (*count == 0) return STATUS_OK;
  Status status = put(&r, text.bytes + done, text.size - done);
  if (status == STATUS_OK) add_pairs(pairs, out, put_from, put_to, constant && *count > 1);
  return status;
}
