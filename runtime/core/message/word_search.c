/*
** Words by their heads: a text is read once, run by run, and each run is looked up.
**
**     word      gift_card_6847880      head   6847880      (its longest run, of equal ones the last)
**     text      "id": "gift_card_6847880"
**                                ^ a run with that hash: compare the word, then look at both sides
**
** Invariants:
**   1. A head is a whole run of its word, so that in a text it is a whole run, too.
**   2. `missing` is the number of heads without `found` of words that are not empty.
*/
#include "core/message/word_search.h"

#include <assert.h>
#include <string.h>

static bool is_alphanumeric(unsigned char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static size_t run_size(const char *bytes, size_t size) {
  size_t n = 0;
  while (n < size && is_alphanumeric((unsigned char)bytes[n])) n++;
  return n;
}

/* Bytes of the character that begins here and is neither an ASCII letter nor a digit. */
static size_t character_size(const char *bytes, size_t size) {
  size_t n = 1;
  while (n < size && ((unsigned char)bytes[n] & 0xC0) == 0x80) n++;
  return n;
}

static WordHead head_of(Text word) {
  WordHead head = {0};
  for (size_t at = 0; at < word.size;) {
    size_t size = run_size(word.bytes + at, word.size - at);
    if (size >= head.size && size > 0) head = (WordHead){.at = at, .size = size};
    at += size > 0 ? size : character_size(word.bytes + at, word.size - at);
  }
  if (head.size == 0 && word.size > 0) head.size = character_size(word.bytes, word.size);
  return head;
}

static uint64_t hash_of(const WordSearch *search, const char *bytes, size_t size) {
  return hash_text(text_plain(bytes, size), &search->key);
}

static uint32_t heads_room(uint32_t count) { return count > 0 ? count : 1; }

static Status add_word(WordSearch *search, uint32_t index) {
  Text word = search->words[index];
  WordHead head = head_of(word);
  assert(!word.escaped);
  search->heads[index] = head;
  if (head.size == 0) return STATUS_OK;
  uint64_t hash = hash_of(search, word.bytes + head.at, head.size);
  uint64_t *first = map_find(&search->by_head, hash);
  if (first != NULL) search->heads[index].next = (uint32_t)*first;
  if (!is_alphanumeric((unsigned char)word.bytes[head.at])) search->has_marks = true;
  search->missing++;
  return map_put(&search->by_head, hash, (uint64_t)index + 1);
}

Status word_search_init(WordSearch *search, Memory memory, HashKey key, const Text *words, uint32_t count) {
  *search = (WordSearch){.memory = memory, .key = key, .words = words, .count = count};
  map_init(&search->by_head, memory);
  buffer_init(&search->scratch, memory);
  search->heads = memory_new_array(&memory, heads_room(count), sizeof *search->heads);
  Status status = search->heads == NULL ? STATUS_MEMORY : STATUS_OK;
  for (uint32_t i = 0; i < count && status == STATUS_OK; i++) status = add_word(search, i);
  if (status != STATUS_OK) word_search_free(search);
  return status;
}

void word_search_free(WordSearch *search) {
  memory_free(&search->memory, search->heads, (size_t)heads_room(search->count) * sizeof *search->heads);
  search->heads = NULL;
  map_free(&search->by_head);
  buffer_free(&search->scratch);
}

/* True if the word stands where its head does, at `at` of the text. */
static bool stands_at(Text text, Text word, const WordHead *head, size_t at) {
  if (at < head->at || text.size - (at - head->at) < word.size) return false;
  size_t first = at - head->at, end = first + word.size;
  if (memcmp(text.bytes + first, word.bytes, word.size) != 0) return false;
  if (first > 0 && is_alphanumeric((unsigned char)text.bytes[first - 1])) return false;
  return end == text.size || !is_alphanumeric((unsigned char)text.bytes[end]);
}

/* Marks the words whose head is the run or character at `at`. */
static void look_up(WordSearch *search, Text text, size_t at, size_t size) {
  const uint64_t *first = map_find(&search->by_head, hash_of(search, text.bytes + at, size));
  for (uint32_t next = first != NULL ? (uint32_t)*first : 0; next != 0; next = search->heads[next - 1].next) {
    WordHead *head = &search->heads[next - 1];
    if (head->found || !stands_at(text, search->words[next - 1], head, at)) continue;
    head->found = true;
    search->missing--;
  }
}

Status word_search_text(WordSearch *search, Text text) {
  if (text.escaped) {
    buffer_reset(&search->scratch);
    Status status = text_decode(text, &search->scratch);
    if (status != STATUS_OK) return status;
    text = text_plain(search->scratch.bytes, search->scratch.size);
  }
  for (size_t at = 0; at < text.size && search->missing > 0;) {
    size_t size = run_size(text.bytes + at, text.size - at);
    if (size > 0) {
      look_up(search, text, at, size);
    } else {
      size = character_size(text.bytes + at, text.size - at);
      if (search->has_marks) look_up(search, text, at, size);
    }
    at += size;
  }
  return STATUS_OK;
}

Status word_search_message(WordSearch *search, const Message *message) {
  uint32_t at = 0;
  Text text;
  Status status = STATUS_OK;
  while (status == STATUS_OK && search->missing > 0 && message_next_text(message, &at, &text)) {
    status = word_search_text(search, text);
  }
  return status;
}

bool word_search_found(const WordSearch *search, uint32_t index) {
  assert(index < search->count);
  return search->heads[index].found;
}
