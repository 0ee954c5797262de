#include "json/json_edit.h"

#include <assert.h>

#include "json/json.h"

typedef struct Editor {
  const MemberEdit *edits;
  uint32_t count;
  Buffer *out;
  const char *copied;        /* bytes before are in `out`, or left out */
  bool any;                  /* a member was written */
  Status status;
} Editor;

static const MemberEdit *edit_of(const Editor *editor, Text key) {
  for (uint32_t i = 0; i < editor->count; i++) {
    if (text_equal(editor->edits[i].key, key)) return &editor->edits[i];
  }
  return NULL;
}

static void put(Editor *editor, const char *bytes, size_t size) {
  if (editor->status == STATUS_OK) editor->status = buffer_add(editor->out, bytes, size);
}

/* One member: its key as it stands, then its old value or its new one. The bytes
   before the key (a comma, space) go with it, the comma of the first left out. */
static void put_member(Editor *editor, Text key, const JsonValue *value) {
  const MemberEdit *edit = edit_of(editor, key);
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

static bool has_key(Text raw, Text wanted) {
  Json json;
  Text key;
  JsonValue value;
  json_open(&json, raw.bytes, raw.size);
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    if (text_equal(key, wanted)) return true;
  }
  return false;
}

static void put_new(Editor *editor, const MemberEdit *edit) {
  put(editor, ",\"", editor->any ? 2 : 0);
  if (!editor->any) put(editor, "\"", 1);
  if (editor->status == STATUS_OK) editor->status = text_escape(edit->key, editor->out);
  put(editor, "\":", 2);
  put(editor, edit->value.bytes, edit->value.size);
  editor->any = true;
}

Status json_edit_members(Text raw, const MemberEdit *edits, uint32_t count, Buffer *out) {
  Editor editor = {.edits = edits, .count = count, .out = out, .copied = raw.bytes + 1};
  Json json;
  Text key;
  JsonValue value;
  size_t before = out->size;
  json_open(&json, raw.bytes, raw.size);
  json_enter(&json);
  put(&editor, "{", 1);
  while (json_next_member(&json, &key) && json_value(&json, &value)) put_member(&editor, key, &value);
  assert(json.status == STATUS_OK);
  for (uint32_t i = 0; i < count; i++) {
    if (edits[i].value.size > 0 && !has_key(raw, edits[i].key)) put_new(&editor, &edits[i]);
  }
  const char *end = raw.bytes + raw.size;
  put(&editor, editor.copied, (size_t)(end - editor.copied));
  if (editor.status != STATUS_OK) out->size = before;
  return editor.status;
}
