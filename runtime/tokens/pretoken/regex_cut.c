/*
** Each stage is compiled by PCRE2, to machine code if possible. The cuts of one stage are
** the input of the next; two buffers are swapped in between.
*/
#include "tokens/pretoken/regex_cut.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

struct RegexCut {
  Memory memory;
  RegexEngine *engine;
  unsigned stages;
  Regex *list[REGEX_STAGES_MAX];
  Buffer ends, cuts;           /* ends as size_t: of the previous stage, and of the present one */
};

/* ---- life ---- */

/* Copies an expression with Unicode's white space in place of \s, and its opposite in place of \S: those of PCRE2 know
   U+180E as a space, which it has not been since Unicode 6.3. */
static Status write_spaces(const char *regex, size_t size, Buffer *out) {
  static const char space[] = "\\p{White_Space}", other[] = "\\P{White_Space}";
  Status status = STATUS_OK;
  for (size_t i = 0, used; i < size && status == STATUS_OK; i += used) {
    bool escape = regex[i] == '\\' && i + 1 < size;
    used = escape ? 2 : 1;
    if (escape && regex[i + 1] == 's') status = buffer_add(out, space, sizeof space - 1);
    else if (escape && regex[i + 1] == 'S') status = buffer_add(out, other, sizeof other - 1);
    else status = buffer_add(out, regex + i, used);
  }
  return status;
}

static Status compile_stage(RegexCut *cut, const char *regex, size_t size, RegexCutError *error) {
  Regex **stage = &cut->list[cut->stages];
  buffer_reset(&cut->cuts);
  Status status = write_spaces(regex, size, &cut->cuts);
  if (status != STATUS_OK) return status;
  status = regex_new(cut->engine, cut->cuts.bytes, cut->cuts.size, REGEX_VOCABULARY, stage, &error->regex);
  /* What is invalid is reported at its place in the expression itself. */
  if (status != STATUS_OK && status != STATUS_MEMORY) {
    status = regex_new(cut->engine, regex, size, REGEX_VOCABULARY, stage, &error->regex);
  }
  if (status == STATUS_OK) cut->stages++;
  else error->stage = cut->stages;
  return status == STATUS_ENCODING ? STATUS_ARGUMENT : status;
}

Status regex_cut_new(const Memory *memory, const char *stages, RegexCut **result, RegexCutError *error) {
  *error = (RegexCutError){0};
  RegexCut *cut = memory_new(memory, sizeof *cut);
  if (cut == NULL) return STATUS_MEMORY;
  *cut = (RegexCut){.memory = *memory};
  buffer_init(&cut->ends, *memory);
  buffer_init(&cut->cuts, *memory);
  Status status = regex_engine_new(memory, &cut->engine);
  for (; status == STATUS_OK && *stages != '\0'; stages += strlen(stages) + 1) {
    status = cut->stages == REGEX_STAGES_MAX ? STATUS_LIMIT : compile_stage(cut, stages, strlen(stages), error);
  }
  if (status == STATUS_OK) *result = cut;
  else regex_cut_free(cut);
  return status;
}

void regex_cut_free(RegexCut *cut) {
  if (cut == NULL) return;
  for (unsigned i = 0; i < cut->stages; i++) regex_free(cut->list[i]);
  regex_engine_free(cut->engine);
  buffer_free(&cut->ends);
  buffer_free(&cut->cuts);
  Memory memory = cut->memory;
  memory_free(&memory, cut, sizeof *cut);
}

/* ---- cutting ---- */

static Status add_end(Buffer *ends, size_t end) { return buffer_add(ends, &end, sizeof end); }

/* Bytes from an empty match at `at` to the next place to try. */
static size_t step(const char *pretoken, size_t size, size_t at) {
  size_t bytes = utf8_decode(pretoken + at, pretoken + size, NULL);
  return bytes > 0 ? bytes : 1;
}

/* Cuts one pretoken, at `offset` of the text, by `stage`, and adds the ends. */
static Status cut_pretoken(RegexCut *cut, Regex *stage, const char *pretoken, size_t offset, size_t size) {
  size_t done = 0, from = 0;      /* done: bytes that are cut */
  Status status = STATUS_OK;
  while (from < size && status == STATUS_OK) {
    const size_t *ends;
    status = regex_find(stage, pretoken, size, from, &ends);
    if (status != STATUS_OK || ends == NULL) break;
    size_t start = ends[0], end = ends[1];
    assert(from <= end && end <= size);
    if (start > done) {
      status = add_end(&cut->cuts, offset + start);
      done = start;
    }
    if (status == STATUS_OK && end > start) {
      status = add_end(&cut->cuts, offset + end);
      done = end;
    }
    from = end > start ? end : end + (end < size ? step(pretoken, size, end) : 1);
  }
  if (status == STATUS_OK && done < size) status = add_end(&cut->cuts, offset + size);
  return status;
}

static Status cut_all(RegexCut *cut, Regex *stage, const char *bytes) {
  size_t start = 0;
  buffer_reset(&cut->cuts);
  for (size_t at = 0; at < cut->ends.size; at += sizeof start) {
    size_t end;
    memcpy(&end, cut->ends.bytes + at, sizeof end);
    assert(start < end);
    Status status = cut_pretoken(cut, stage, bytes + start, start, end - start);
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
  for (unsigned i = 0; i < cut->stages && status == STATUS_OK; i++) status = cut_all(cut, cut->list[i], bytes);
  *ends = (const size_t *)(const void *)cut->ends.bytes;
  *count = cut->ends.size / sizeof size;
  return status;
}
