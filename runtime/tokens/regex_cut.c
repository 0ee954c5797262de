/*
** Each stage is PCRE2's code, compiled to the machine's where that is possible.
** The cuts of one stage are the input of the next, in two blocks that change
** their parts.
*/
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokens/regex_cut.h"

#include <pcre2.h>
#include <string.h>

#include "base/utf8.h"

#define MATCH_LIMIT 10000000    /* steps within one match */

typedef struct Stage {
  pcre2_code *code;
  bool compiled;               /* to machine code */
} Stage;

struct RegexCut {
  Memory memory;
  pcre2_general_context *general;
  pcre2_match_context *limits;
  pcre2_match_data *found;
  unsigned stages;
  Stage list[REGEX_STAGES_MAX];
  Buffer ends, cuts;           /* size_t each: what is cut, and what is being cut */
};

/* ---- memory: PCRE2 frees without saying sizes, so they stand in front ---- */

#define SIZE_ROOM 16

static void *give(size_t size, void *user) {
  if (size > SIZE_MAX - SIZE_ROOM) return NULL;
  char *block = memory_new(user, size + SIZE_ROOM);
  if (block == NULL) return NULL;
  memcpy(block, &size, sizeof size);
  return block + SIZE_ROOM;
}

static void take_back(void *given, void *user) {
  if (given == NULL) return;
  char *block = (char *)given - SIZE_ROOM;
  size_t size;
  memcpy(&size, block, sizeof size);
  memory_free(user, block, size + SIZE_ROOM);
}

/* ---- making ---- */

static Status compile_stage(RegexCut *cut, const char *regex, size_t size, RegexError *error) {
  pcre2_compile_context *context = pcre2_compile_context_create(cut->general);
  if (context == NULL) return STATUS_MEMORY;
  int code = 0;
  PCRE2_SIZE offset = 0;
  /* Texts need not be valid UTF-8, but a pattern is about characters. */
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY;
  pcre2_code *made = pcre2_compile((PCRE2_SPTR)regex, size, options, &code, &offset, context);
  pcre2_compile_context_free(context);
  if (made == NULL && (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)) return STATUS_MEMORY;
  if (made == NULL) {
    error->stage = cut->stages;
    error->offset = offset;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)error->message, sizeof error->message);
    return STATUS_ARGUMENT;
  }
  Stage *stage = &cut->list[cut->stages++];
  stage->code = made;
#ifndef EBB_NO_JIT
  stage->compiled = pcre2_jit_compile(made, PCRE2_JIT_COMPLETE) == 0;
#endif
  return STATUS_OK;
}

static Status make_contexts(RegexCut *cut) {
  cut->general = pcre2_general_context_create(give, take_back, &cut->memory);
  if (cut->general == NULL) return STATUS_MEMORY;
  cut->limits = pcre2_match_context_create(cut->general);
  cut->found = pcre2_match_data_create(1, cut->general);
  if (cut->limits == NULL || cut->found == NULL) return STATUS_MEMORY;
  pcre2_set_match_limit(cut->limits, MATCH_LIMIT);
  return STATUS_OK;
}

Status regex_cut_new(const Memory *memory, const char *stages, RegexCut **made, RegexError *error) {
  *error = (RegexError){0};
  RegexCut *cut = memory_new(memory, sizeof *cut);
  if (cut == NULL) return STATUS_MEMORY;
  *cut = (RegexCut){.memory = *memory};
  buffer_init(&cut->ends, *memory);
  buffer_init(&cut->cuts, *memory);
  Status status = make_contexts(cut);
  for (; status == STATUS_OK && *stages != '\0'; stages += strlen(stages) + 1) {
    size_t size = strlen(stages);
    if (cut->stages == REGEX_STAGES_MAX || size > REGEX_BYTES_MAX) status = STATUS_LIMIT;
    else status = compile_stage(cut, stages, size, error);
  }
  if (status == STATUS_OK) *made = cut;
  else regex_cut_free(cut);
  return status;
}

void regex_cut_free(RegexCut *cut) {
  if (cut == NULL) return;
  for (unsigned i = 0; i < cut->stages; i++) pcre2_code_free(cut->list[i].code);
  pcre2_match_data_free(cut->found);
  pcre2_match_context_free(cut->limits);
  pcre2_general_context_free(cut->general);
  buffer_free(&cut->ends);
  buffer_free(&cut->cuts);
  Memory memory = cut->memory;
  memory_free(&memory, cut, sizeof *cut);
}

/* ---- cutting ---- */

static Status add_end(Buffer *ends, size_t end) { return buffer_add(ends, &end, sizeof end); }

/* The next match at or behind `from`; false: there is none. */
static Status find(RegexCut *cut, const Stage *stage, const char *piece, size_t size, size_t from, size_t found[2],
                   bool *any) {
  int answer = PCRE2_ERROR_JIT_STACKLIMIT;
  PCRE2_SPTR text = (PCRE2_SPTR)piece;
  if (stage->compiled) answer = pcre2_match(stage->code, text, size, from, 0, cut->found, cut->limits);
  if (answer == PCRE2_ERROR_JIT_STACKLIMIT) {
    answer = pcre2_match(stage->code, text, size, from, PCRE2_NO_JIT, cut->found, cut->limits);
  }
  *any = answer >= 0;
  if (answer == PCRE2_ERROR_NOMATCH) return STATUS_OK;
  if (answer < 0) return answer == PCRE2_ERROR_NOMEMORY ? STATUS_MEMORY : STATUS_LIMIT;
  const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(cut->found);
  found[0] = ends[0];
  found[1] = ends[1];
  return STATUS_OK;
}

/* Bytes from `at` to where the next try may start, behind an empty match. */
static size_t step(const char *piece, size_t size, size_t at) {
  size_t bytes = utf8_decode(piece + at, piece + size, NULL);
  return bytes > 0 ? bytes : 1;
}

/* Adds the ends of what `stage` makes of one piece, which starts at `offset` of the text. */
static Status cut_piece(RegexCut *cut, const Stage *stage, const char *piece, size_t offset, size_t size) {
  size_t done = 0, from = 0;      /* `done` bytes have their ends */
  Status status = STATUS_OK;
  while (from < size && status == STATUS_OK) {
    size_t found[2];
    bool any;
    status = find(cut, stage, piece, size, from, found, &any);
    if (status != STATUS_OK || !any) break;
    if (found[0] > done) {
      status = add_end(&cut->cuts, offset + found[0]);
      done = found[0];
    }
    if (status == STATUS_OK && found[1] > found[0]) {
      status = add_end(&cut->cuts, offset + found[1]);
      done = found[1];
    }
    from = found[1] > found[0] ? found[1] : found[1] + (found[1] < size ? step(piece, size, found[1]) : 1);
  }
  if (status == STATUS_OK && done < size) status = add_end(&cut->cuts, offset + size);
  return status;
}

static Status cut_all(RegexCut *cut, const Stage *stage, const char *bytes) {
  size_t start = 0;
  buffer_reset(&cut->cuts);
  for (size_t at = 0; at < cut->ends.size; at += sizeof start) {
    size_t end;
    memcpy(&end, cut->ends.bytes + at, sizeof end);
    Status status = cut_piece(cut, stage, bytes + start, start, end - start);
    if (status != STATUS_OK) return status;
    start = end;
  }
  Buffer swap = cut->ends;
  cut->ends = cut->cuts;
  cut->cuts = swap;
  return STATUS_OK;
}

Status regex_cut_text(RegexCut *cut, const char *bytes, size_t size, const size_t **ends, size_t *count) {
  buffer_reset(&cut->ends);
  Status status = size > 0 ? add_end(&cut->ends, size) : buffer_reserve(&cut->ends, sizeof size);
  for (unsigned i = 0; i < cut->stages && status == STATUS_OK; i++) status = cut_all(cut, &cut->list[i], bytes);
  *ends = (const size_t *)(const void *)cut->ends.bytes;
  *count = cut->ends.size / sizeof size;
  return status;
}
