/*
** Two automata, one over texts in small letters, one over texts as they are. The keywords of each are sorted, so that
** a node of the trie is a range of them, and the children of a node divide its range:
**
**     keywords          nodes, level by level
**     he                0 root   [he, hers, his, she)
**     hers              1 h      [he, hers, his)            2 s   [she)
**     his               3 he     [he, hers)                 4 hi  [his)     5 sh  [she)
**     she               6 her    [hers)                     7 his [his)     8 she [she)
**
** Nodes are numbered level by level, so the children of a node have neighbouring numbers and sorted labels: a node
** needs no list of edges, only the number of its first child. `fail` is the node of the longest proper suffix. The
** root and its children have whole rows of transitions, failures resolved: most bytes of a text are read there.
**
** At each byte the keywords that end there stand on a chain of nodes, `ends` of the node and of those that it fails
** to. Two chains: of plain keywords, and of whole words, which is read only where a word ends. A search reads the rest
** of a chain after a node once: whether a shorter whole word begins at a word's start is decided by the byte before
** it, which is part of the longer one, and so is always the same.
**
** Invariants (asserted where nodes are added and linked):
**   1. first_child[n] <= first_child[n + 1]; the children of n end where those of n + 1 begin.
**   2. fail[n] is on a level above n, except for the root.
**   3. While read[n] is the number of the search, all nodes after n on its chain have been read in it.
*/
#include "regex/keyword_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/lower.h"

enum { ROW = 256, BYTES_MAX = INT32_MAX };

typedef enum Kind { PLAIN, WHOLE, KINDS } Kind;

typedef struct Entry {
  Text     text;             /* in the automaton's letters; points into the set's bytes */
  uint32_t number;           /* of the keyword */
  Kind     kind;
} Entry;

typedef struct Node {
  uint32_t first_child;
  uint32_t fail;
  uint32_t ends[KINDS];      /* the first node of the chain, itself perhaps; 0: none */
} Node;

/* What is read of a node only where keywords end. */
typedef struct End {
  uint32_t entry;            /* the first that ends here: the plain ones, then the whole ones */
  uint32_t count[KINDS];
  uint32_t depth;            /* bytes from the root */
  uint32_t noted[KINDS];     /* the search that gave its keywords */
  uint32_t read[KINDS];      /* the search that has read the rest of its chain */
} End;

typedef struct Automaton {
  Entry   *entries;          /* sorted by their bytes */
  uint32_t entry_count;
  Node    *nodes;            /* and one behind the last, whose first_child ends its children */
  End     *ends;
  uint8_t *labels;           /* of the edge that leads to each node */
  uint32_t node_count, node_room, end_room, label_room;
  uint32_t *rows;            /* of the root and its children */
  uint32_t row_count;
} Automaton;

struct KeywordSet {
  Memory    memory;
  Automaton small, exact;
  Buffer    bytes;           /* of all keywords, in the letters of their automata */
  Buffer    text;            /* of a search, in small letters */
  Buffer    joined;          /* of a search with a prefix */
  uint32_t  count;
  uint32_t *hits;
  uint32_t  search;
};

/* ---- building ---- */

static int by_bytes(const void *a, const void *b) {
  const Entry *first = a, *second = b;
  int order = text_compare(first->text, second->text);
  if (order != 0) return order;
  if (first->kind != second->kind) return first->kind == WHOLE ? 1 : -1;
  return (first->number > second->number) - (first->number < second->number);
}

/* A node under construction: its range of entries. */
typedef struct Range {
  uint32_t first, end;
} Range;

typedef struct Build {
  const Memory *memory;
  Automaton *automaton;
  Range   *ranges;           /* by node */
  uint32_t range_room;
} Build;

/* Adds a node for entries [first, end) whose last common byte is `label`. */
static Status add_node(Build *build, uint8_t label, uint32_t depth, Range range) {
  Automaton *a = build->automaton;
  Node *nodes = memory_grow(build->memory, a->nodes, &a->node_room, a->node_count, sizeof *nodes);
  if (nodes == NULL) return STATUS_MEMORY;
  a->nodes = nodes;
  uint8_t *labels = memory_grow(build->memory, a->labels, &a->label_room, a->node_count, sizeof *labels);
  if (labels == NULL) return STATUS_MEMORY;
  a->labels = labels;
  Range *ranges = memory_grow(build->memory, build->ranges, &build->range_room, a->node_count, sizeof *ranges);
  if (ranges == NULL) return STATUS_MEMORY;
  build->ranges = ranges;
  End *ends = memory_grow(build->memory, a->ends, &a->end_room, a->node_count, sizeof *ends);
  if (ends == NULL) return STATUS_MEMORY;
  a->ends = ends;
  End end = {.entry = range.first, .depth = depth};
  while (range.first < range.end && a->entries[range.first].text.size == depth) {
    end.count[a->entries[range.first++].kind]++;
  }
  a->ends[a->node_count] = end;
  a->nodes[a->node_count] = (Node){0};
  a->labels[a->node_count] = label;
  build->ranges[a->node_count] = range;
  a->node_count++;
  return STATUS_OK;
}

/* Adds the children of a node: one per byte that follows in its entries. */
static Status add_children(Build *build, uint32_t node) {
  Automaton *a = build->automaton;
  uint32_t depth = a->ends[node].depth;
  Range range = build->ranges[node];
  a->nodes[node].first_child = a->node_count;
  for (uint32_t from = range.first; from < range.end;) {
    uint8_t label = (uint8_t)a->entries[from].text.bytes[depth];
    uint32_t end = from + 1;
    while (end < range.end && (uint8_t)a->entries[end].text.bytes[depth] == label) end++;
    Status status = add_node(build, label, depth + 1, (Range){from, end});
    if (status != STATUS_OK) return status;
    from = end;
  }
  return STATUS_OK;
}

static Status add_nodes(Build *build) {
  Automaton *a = build->automaton;
  Status status = add_node(build, 0, 0, (Range){0, a->entry_count});
  for (uint32_t node = 0; status == STATUS_OK && node < a->node_count; node++) {
    status = add_children(build, node);
    assert(status != STATUS_OK || node == 0 || a->nodes[node - 1].first_child <= a->nodes[node].first_child);
  }
  uint32_t count = a->node_count;
  if (status == STATUS_OK) status = add_node(build, 0, 0, (Range){a->entry_count, a->entry_count});
  if (status != STATUS_OK) return status;
  a->node_count = count;
  a->nodes[count].first_child = count;
  return STATUS_OK;
}

/* The child of a node by a byte; 0 if it has none. */
static inline uint32_t child_of(const Automaton *a, uint32_t node, uint8_t byte) {
  uint32_t end = a->nodes[node + 1].first_child;
  for (uint32_t child = a->nodes[node].first_child; child < end; child++) {
    if (a->labels[child] >= byte) return a->labels[child] == byte ? child : 0;
  }
  return 0;
}

/* The node after a byte. */
static inline uint32_t step(const Automaton *a, uint32_t node, uint8_t byte) {
  while (node >= a->row_count) {
    uint32_t child = child_of(a, node, byte);
    if (child != 0) return child;
    node = a->nodes[node].fail;
  }
  return a->rows[(size_t)node * ROW + byte];
}

/* Rows of the root and of its children, which fail to the root. */
static Status add_rows(Build *build) {
  Automaton *a = build->automaton;
  uint32_t count = a->nodes[1].first_child;    /* keywords are not empty, so there is a node 1 */
  a->rows = memory_new_array(build->memory, (size_t)count * ROW, sizeof *a->rows);
  if (a->rows == NULL) return STATUS_MEMORY;
  a->row_count = count;
  for (uint32_t node = 0; node < count; node++) {
    for (unsigned byte = 0; byte < ROW; byte++) {
      uint32_t child = child_of(a, node, (uint8_t)byte);
      a->rows[(size_t)node * ROW + byte] = child != 0 || node == 0 ? child : a->rows[byte];
    }
  }
  return STATUS_OK;
}

/* Sets `fail` and `ends`, level by level. */
static void link_nodes(Automaton *a) {
  for (uint32_t node = 0; node < a->node_count; node++) {
    for (uint32_t child = a->nodes[node].first_child; child < a->nodes[node + 1].first_child; child++) {
      uint32_t fail = node == 0 ? 0 : step(a, a->nodes[node].fail, a->labels[child]);
      assert(a->ends[fail].depth < a->ends[child].depth);
      a->nodes[child].fail = fail;
      for (int kind = PLAIN; kind < KINDS; kind++) {
        a->nodes[child].ends[kind] = a->ends[child].count[kind] > 0 ? child : a->nodes[fail].ends[kind];
      }
    }
  }
}

static Status build_automaton(const Memory *memory, Automaton *a) {
  Build build = {.memory = memory, .automaton = a};
  if (a->entry_count == 0) return STATUS_OK;
  qsort(a->entries, a->entry_count, sizeof *a->entries, by_bytes);
  Status status = add_nodes(&build);
  if (status == STATUS_OK) status = add_rows(&build);
  if (status == STATUS_OK) link_nodes(a);
  memory_free(memory, build.ranges, (size_t)build.range_room * sizeof *build.ranges);
  return status;
}

static void free_automaton(const Memory *memory, Automaton *a, uint32_t entry_room) {
  memory_free(memory, a->entries, (size_t)entry_room * sizeof *a->entries);
  memory_free(memory, a->nodes, (size_t)a->node_room * sizeof *a->nodes);
  memory_free(memory, a->ends, (size_t)a->end_room * sizeof *a->ends);
  memory_free(memory, a->labels, (size_t)a->label_room * sizeof *a->labels);
  memory_free(memory, a->rows, (size_t)a->row_count * ROW * sizeof *a->rows);
}

/* ---- sets ---- */

/* Copies the keywords' letters behind each other, each ended by its size: the block moves while it grows. */
static Status copy_bytes(KeywordSet *set, const Keyword *keywords, size_t *sizes) {
  for (uint32_t i = 0; i < set->count; i++) {
    size_t before = set->bytes.size;
    Text text = keywords[i].text;
    if (text.size == 0) return STATUS_ARGUMENT;
    Status status = keywords[i].flags & KEYWORD_CASE ? buffer_add(&set->bytes, text.bytes, text.size)
                                                     : lower_text(text, &set->bytes);
    if (status != STATUS_OK) return status;
    if (set->bytes.size > BYTES_MAX) return STATUS_LIMIT;
    sizes[i] = set->bytes.size - before;
  }
  return STATUS_OK;
}

static void add_entries(KeywordSet *set, const Keyword *keywords, const size_t *sizes) {
  const char *at = set->bytes.bytes;
  for (uint32_t i = 0; i < set->count; i++) {
    Automaton *a = keywords[i].flags & KEYWORD_CASE ? &set->exact : &set->small;
    a->entries[a->entry_count++] =
      (Entry){.text = text_plain(at, sizes[i]), .number = i, .kind = keywords[i].flags & KEYWORD_WHOLE ? WHOLE : PLAIN};
    at += sizes[i];
  }
}

static Status fill(KeywordSet *set, const Keyword *keywords) {
  const Memory *memory = &set->memory;
  uint32_t count = set->count;
  size_t *sizes = memory_new_array(memory, count, sizeof *sizes);
  if (sizes == NULL) return STATUS_MEMORY;
  Status status = copy_bytes(set, keywords, sizes);
  if (status == STATUS_OK) {
    set->small.entries = memory_new_array(memory, count, sizeof(Entry));
    set->exact.entries = memory_new_array(memory, count, sizeof(Entry));
    set->hits = memory_new_array(memory, count, sizeof *set->hits);
    if (!set->small.entries || !set->exact.entries || !set->hits) status = STATUS_MEMORY;
  }
  if (status == STATUS_OK) {
    add_entries(set, keywords, sizes);
    status = build_automaton(memory, &set->small);
  }
  if (status == STATUS_OK) status = build_automaton(memory, &set->exact);
  memory_free(memory, sizes, (size_t)count * sizeof *sizes);
  return status;
}

Status keyword_set_new(const Memory *memory, const Keyword *keywords, uint32_t count, KeywordSet **result) {
  KeywordSet *set = memory_new(memory, sizeof *set);
  if (set == NULL) return STATUS_MEMORY;
  *set = (KeywordSet){.memory = *memory, .count = count};
  buffer_init(&set->bytes, *memory);
  buffer_init(&set->text, *memory);
  buffer_init(&set->joined, *memory);
  Status status = count == 0 ? STATUS_OK : fill(set, keywords);
  if (status != STATUS_OK) {
    keyword_set_free(set);
    return status;
  }
  *result = set;
  return STATUS_OK;
}

/* A list that fill could not allocate is NULL, and its room then does not matter. */
void keyword_set_free(KeywordSet *set) {
  if (set == NULL) return;
  Memory memory = set->memory;
  free_automaton(&memory, &set->small, set->count);
  free_automaton(&memory, &set->exact, set->count);
  memory_free(&memory, set->hits, (size_t)set->count * sizeof *set->hits);
  buffer_free(&set->bytes);
  buffer_free(&set->text);
  buffer_free(&set->joined);
  memory_free(&memory, set, sizeof *set);
}

uint32_t keyword_set_size(const KeywordSet *set) { return set->count; }

/* ---- searching ---- */

static bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* Notes the keywords of one kind that end at a node. */
static void note(KeywordSet *set, const Automaton *a, uint32_t node, Kind kind, uint32_t *count) {
  const End *end = &a->ends[node];
  uint32_t first = end->entry + (kind == WHOLE ? end->count[PLAIN] : 0);
  for (uint32_t i = first; i < first + end->count[kind]; i++) {
    assert(a->entries[i].kind == kind && *count < set->count);
    set->hits[(*count)++] = a->entries[i].number;
  }
}

/* Reads the chain of a node, whose last byte is text[size - 1]. */
static void read_chain(KeywordSet *set, Automaton *a, uint32_t node, Kind kind, Text text, uint32_t *count) {
  for (node = a->nodes[node].ends[kind]; node != 0; node = a->nodes[a->nodes[node].fail].ends[kind]) {
    End *end = &a->ends[node];
    size_t start = text.size - end->depth;
    bool fits = kind == PLAIN || start == 0 || !is_word(text.bytes[start - 1]);
    if (fits && end->noted[kind] != set->search) {
      note(set, a, node, kind, count);
      end->noted[kind] = set->search;
    }
    if (end->read[kind] == set->search) return;
    end->read[kind] = set->search;
  }
}

static void search(KeywordSet *set, Automaton *a, Text text, uint32_t *count) {
  if (a->entry_count == 0) return;
  uint32_t node = 0;
  for (size_t i = 0; i < text.size; i++) {
    node = step(a, node, (uint8_t)text.bytes[i]);
    const uint32_t *ends = a->nodes[node].ends;
    if (ends[PLAIN] != 0) read_chain(set, a, node, PLAIN, text_plain(text.bytes, i + 1), count);
    bool word_ends = i + 1 == text.size || !is_word(text.bytes[i + 1]);
    if (ends[WHOLE] != 0 && word_ends) read_chain(set, a, node, WHOLE, text_plain(text.bytes, i + 1), count);
  }
  assert(*count <= set->count);
}

static void forget_ends(Automaton *a) {
  for (uint32_t node = 0; node < a->node_count; node++) {
    for (int kind = PLAIN; kind < KINDS; kind++) a->ends[node].noted[kind] = a->ends[node].read[kind] = 0;
  }
}

/* Begins a search, whose number no node has. */
static void begin(KeywordSet *set) {
  if (set->search == UINT32_MAX) {
    forget_ends(&set->small);
    forget_ends(&set->exact);
    set->search = 0;
  }
  set->search++;
}

Status keyword_set_find(KeywordSet *set, Text prefix, Text text, const uint32_t **hits, uint32_t *count) {
  *hits = set->hits;
  *count = 0;
  if (set->count == 0) return STATUS_OK;
  if (prefix.size > 0) {
    buffer_reset(&set->joined);
    Status status = buffer_add(&set->joined, prefix.bytes, prefix.size);
    if (status == STATUS_OK) status = buffer_add(&set->joined, text.bytes, text.size);
    if (status != STATUS_OK) return status;
    text = text_plain(set->joined.bytes, set->joined.size);
  }
  begin(set);
  if (set->small.entry_count > 0) {
    buffer_reset(&set->text);
    Status status = lower_text(text, &set->text);
    if (status != STATUS_OK) return status;
    search(set, &set->small, text_plain(set->text.bytes, set->text.size), count);
  }
  search(set, &set->exact, text, count);
  return STATUS_OK;
}
