#include "json/json_edit.h"

#include <assert.h>

#include "json/json.h"

typedef struct MemberEditor {
  const MemberEdit *edits;
  uint32_t count;
  Buffer *out;
  const char *copied;        /* bytes before this are in `out` or removed */
  bool any;                  /* a member was written */
  uint64_t used;             /* bit per edit whose key the object has */
  Status status;
} MemberEditor;

/* The edit of a member, the first if there are several; NULL if there is none. */
static const MemberEdit *use_edit(MemberEditor *editor, Text key) {
  const MemberEdit *first = NULL;
  for (uint32_t i = editor->count; i-- > 0;) {
    if (!text_equal(editor->edits[i].key, key)) continue;
    editor->used |= UINT64_C(1) << i;
    first = &editor->edits[i];
  }
  return first;
}

static void put(MemberEditor *editor, const char *bytes, size_t size) {
  if (editor->status == STATUS_OK) editor->status = buffer_add(editor->out, bytes, size);
}

/* Writes a member: its key as it is, then its old or new value. The bytes before the key
   (a comma, white space) go with it, without the comma for the first member. */
static void put_member(MemberEditor *editor, Text key, const JsonValue *value) {
  const MemberEdit *edit = use_edit(editor, key);
  const char *from = editor->copied, *quote = key.bytes - 1;
  editor->copied = value->bytes + value->size;
  if (edit != NULL && edit->value.size == 0) return;
  for (; from < quote; from++) {
    if (*from != ',' || editor->any) put(editor, from, 1);
  }
  put(editor, quote, (size_t)(value->bytes - quote));
  if (edit == NULL) put(editor, value->bytes, value->size);
  else put(editor, edit->value.bytes, edit->value.size);
  editor->any = true;
}

static void put_new(MemberEditor *editor, const MemberEdit *edit) {
  put(editor, ",\"", editor->any ? 2 : 0);
  if (!editor->any) put(editor, "\"", 1);
  if (editor->status == STATUS_OK) editor->status = text_escape(edit->key, editor->out);
  put(editor, "\":", 2);
  put(editor, edit->value.bytes, edit->value.size);
  editor->any = true;
}

Status json_edit_members(Text raw, const MemberEdit *edits, uint32_t count, Buffer *out) {
  MemberEditor editor = {.edits = edits, .count = count, .out = out, .copied = raw.bytes + 1};
  Json json;
  Text key;
  JsonValue value;
  size_t before = out->size;
  assert(count <= JSON_EDITS_MAX);
  assert(raw.size >= 2 && raw.bytes[0] == '{' && raw.bytes[raw.size - 1] == '}');
  json_open(&json, raw.bytes, raw.size);
  json_enter(&json);
  put(&editor, "{", 1);
  while (json_next_member(&json, &key) && json_value(&json, &value)) put_member(&editor, key, &value);
  assert(json.status == STATUS_OK);
  for (uint32_t i = 0; i < count; i++) {
    if (edits[i].value.size > 0 && !(editor.used >> i & 1)) put_new(&editor, &edits[i]);
  }
  const char *end = raw.bytes + raw.size;
  put(&editor, editor.copied, (size_t)(end - editor.copied));
  if (editor.status != STATUS_OK) out->size = before;
  return editor.status;
}
