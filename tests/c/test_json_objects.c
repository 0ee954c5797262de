/*
** Objects of JSON: written with their commas, and read member by member.
*/
#include "check.h"

#include <string.h>

#include "base/names.h"
#include "json/json_fields.h"
#include "json/json_out.h"

/* ---- out ---- */

static void write_all_kinds(JsonOut *out) {
  json_out_open(out, '{');
  json_out_member_text(out, "text", text_of("a \"b\"\n"));
  json_out_member_integer(out, "low", INT64_MIN);
  json_out_name(out, "list");
  json_out_open(out, '[');
  json_out_integer(out, 1);
  json_out_string(out, "two");
  json_out_open(out, '[');
  json_out_close(out, ']');
  json_out_open(out, '{');
  json_out_close(out, '}');
  json_out_close(out, ']');
  json_out_member_raw(out, "raw", text_of("[1,  2]"));
  json_out_name_text(out, (Text){.bytes = "n\\u0061me", .size = 9, .escaped = true});
  json_out_open_with(out, text_of("{\"old\": 1}"));
  json_out_member_string(out, "new", "x");
  json_out_close(out, '}');
  json_out_name(out, "fresh");
  json_out_open_with(out, text_of("{}"));
  json_out_member_string(out, "new", "y");
  json_out_close(out, '}');
  json_out_close(out, '}');
}

static const char ONE_LINE[] =
  "{\"text\":\"a \\\"b\\\"\\n\",\"low\":-9223372036854775808,\"list\":[1,\"two\",[],{}],\"raw\":[1,  2],"
  "\"n\\u0061me\":{\"old\": 1,\"new\":\"x\"},\"fresh\":{\"new\":\"y\"}}";

static void commas_stand_where_they_belong(void **state) {
  (void)state;
  Fail fail = {0};
  Buffer buffer;
  JsonOut out;
  buffer_init(&buffer, fail_memory(&fail));
  json_out_start(&out, sink_to_buffer(&buffer));
  write_all_kinds(&out);
  assert_int_equal(json_out_end(&out), STATUS_OK);
  assert_int_equal(buffer.size, sizeof ONE_LINE - 1);
  assert_memory_equal(buffer.bytes, ONE_LINE, buffer.size);
  buffer_free(&buffer);
}

static void lines_and_levels_are_indented(void **state) {
  (void)state;
  static const char indented[] = "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {}\n}";
  static const char lines[] = "[\n1,\n2]\n{\n\"x\":3}\n";
  Fail fail = {0};
  Buffer buffer;
  JsonOut out;
  buffer_init(&buffer, fail_memory(&fail));
  json_out_start(&out, sink_to_buffer(&buffer));
  out.indent = 2;
  json_out_open(&out, '{');
  json_out_name(&out, "a");
  json_out_open(&out, '[');
  json_out_integer(&out, 1);
  json_out_open(&out, '[');
  json_out_close(&out, ']');
  json_out_close(&out, ']');
  json_out_name(&out, "b");
  json_out_open(&out, '{');
  json_out_close(&out, '}');
  json_out_close(&out, '}');
  assert_int_equal(json_out_end(&out), STATUS_OK);
  assert_int_equal(buffer.size, sizeof indented - 1);
  assert_memory_equal(buffer.bytes, indented, buffer.size);

  buffer_reset(&buffer);
  json_out_start(&out, sink_to_buffer(&buffer));
  json_out_open(&out, '[');
  for (int i = 1; i <= 2; i++) {
    json_out_line(&out);
    json_out_integer(&out, i);
  }
  json_out_close(&out, ']');
  json_out_line(&out);
  json_out_open(&out, '{');
  json_out_line(&out);
  json_out_member_integer(&out, "x", 3);
  json_out_close(&out, '}');
  json_out_line(&out);
  assert_int_equal(json_out_end(&out), STATUS_OK);
  assert_int_equal(buffer.size, sizeof lines - 1);
  assert_memory_equal(buffer.bytes, lines, buffer.size);
  buffer_free(&buffer);
}

/* Long texts are escaped slice by slice, also where no character begins. */
static void long_texts_need_not_be_valid(void **state) {
  (void)state;
  char text[600];
  Buffer whole, buffer;
  JsonOut out;
  memset(text, 'x', sizeof text);
  memset(text + 200, 0x80, 100);
  buffer_init(&whole, memory_system());
  buffer_init(&buffer, memory_system());
  assert_int_equal(text_escape(text_plain(text, sizeof text), &whole), STATUS_OK);
  json_out_start(&out, sink_to_buffer(&buffer));
  json_out_text(&out, text_plain(text, sizeof text));
  assert_int_equal(json_out_end(&out), STATUS_OK);
  assert_int_equal(buffer.size, whole.size + 2);
  assert_memory_equal(buffer.bytes + 1, whole.bytes, whole.size);
  buffer_free(&buffer);
  buffer_free(&whole);
}

/* A sink that takes `left` bytes and then fails. */
static Status take_some(void *user, const char *bytes, size_t size) {
  size_t *left = user;
  (void)bytes;
  if (size > *left) return STATUS_IO;
  *left -= size;
  return STATUS_OK;
}

static void the_first_failure_of_the_sink_sticks(void **state) {
  (void)state;
  char long_text[10000];
  memset(long_text, '"', sizeof long_text);
  size_t room = 15000;
  JsonOut out;
  json_out_start(&out, (Sink){.write = take_some, .user = &room});
  json_out_open(&out, '[');
  json_out_text(&out, text_plain(long_text, sizeof long_text));      /* 20,000 bytes when escaped */
  assert_int_equal(out.status, STATUS_IO);
  size_t before = room;
  room = SIZE_MAX;
  json_out_raw(&out, text_plain(long_text, sizeof long_text));
  json_out_close(&out, ']');
  assert_int_equal(json_out_end(&out), STATUS_IO);
  assert_true(before < 15000 && room == SIZE_MAX);
}

/* ---- in ---- */

static bool read_fields(const char *text, Json *json, JsonFields *fields) {
  json_open(json, text, strlen(text));
  return json_enter(json) && json_fields_read(json, fields);
}

static void members_are_found_by_name_and_kind(void **state) {
  (void)state;
  static const char text[] = "{\"a\": 1, \"b\":\"x\\u0079\", \"\": null, \"c\": [{\"a\":2}]} ";
  Json json;
  JsonFields fields;
  assert_true(read_fields(text, &json, &fields));
  assert_true(json_end(&json));
  assert_int_equal(fields.count, 4);
  assert_ptr_equal(fields.start, text);
  assert_int_equal(json_field(&fields, "a")->kind, JSON_NUMBER);
  assert_int_equal(json_field(&fields, "c")->size, strlen("[{\"a\":2}]"));
  assert_int_equal(json_field(&fields, "")->kind, JSON_NULL);
  assert_null(json_field(&fields, "d"));
  assert_null(json_field_of(&fields, "a", JSON_STRING));
  assert_non_null(json_field_of(&fields, "b", JSON_STRING));
  assert_true(json_field_is(&fields, "b", "xy"));
  assert_false(json_field_is(&fields, "b", "x") || json_field_is(&fields, "a", "1") || json_field_is(&fields, "d", ""));
}

static const char *const NAMES[] = {"one", "two", "three"};

static void members_are_sorted_and_held_against_their_names(void **state) {
  (void)state;
  static const struct Row {
    const char *text;          /* @ stands before the byte that is named; none: good */
    uint32_t required;
    const char *expected;
  } rows[] = {
    {"{\"two\":2,\"one\":1}", 2, NULL},
    {"{}", 0, NULL},
    {"{\"three\":3,\"two\":2,\"on\\u0065\":1}", 3, NULL},
    {"{\"two\":2,\"three\":3}@", 1, "all"},
    {"{\"two\":2,@\"four\":3}", 1, "all"},
    {"{\"two\":2,@\"two\":2}", 0, "each member once"},
    {"{\"two\":2,@\"tw\\u006f\":2}", 0, "each member once"},
    {"{\"one\":@}", 0, "a value"},
    {"{\"one\":1@", 0, "',' or '}'"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    char text[100] = "";
    const char *at = strchr(rows[i].text, '@');
    size_t before = at == NULL ? strlen(rows[i].text) : (size_t)(at - rows[i].text);
    memcpy(text, rows[i].text, before);
    if (at != NULL) strcpy(text + before, at + 1);
    Json json;
    JsonFields fields;
    JsonValue values[3];
    bool read = read_fields(text, &json, &fields) &&
                json_fields_sort(&json, &fields, NAMES, 3, rows[i].required, "all", values);
    assert_int_equal(read, at == NULL);
    if (!read) {
      assert_string_equal(json.expected, rows[i].expected);
      assert_int_equal(json.error - text, before);
      continue;
    }
    for (int k = 0; k < 3; k++) {
      const JsonValue *value = json_field(&fields, NAMES[k]);
      assert_ptr_equal(values[k].bytes, value == NULL ? NULL : value->bytes);
    }
  }
}

static void too_many_members_are_refused(void **state) {
  (void)state;
  char text[JSON_FIELDS_MAX * 8 + 20] = "{";
  Json json;
  JsonFields fields;
  for (int i = 0; i < JSON_FIELDS_MAX; i++) {
    sprintf(text + strlen(text), "\"%d\":0%c", i, i == JSON_FIELDS_MAX - 1 ? '}' : ',');
  }
  assert_true(read_fields(text, &json, &fields));
  size_t size = strlen(text);
  strcpy(text + size - 1, ",\"x\":0}");
  assert_false(read_fields(text, &json, &fields));
  assert_int_equal(json.status, STATUS_SHAPE);
  assert_int_equal(json.error - text, size);
}

static void the_last_member_of_a_kind_is_found(void **state) {
  (void)state;
  JsonValue value;
  Text object = text_of("{\"type\":\"a\",\"x\":{\"type\":\"b\"},\"type\":\"c\",\"type\":null}");
  assert_true(json_find(object, "type", JSON_STRING, &value));
  assert_true(text_is(json_text(&value), "c"));
  assert_true(json_find(object, "x", JSON_OBJECT, &value));
  assert_false(json_find(object, "x", JSON_STRING, &value));
  assert_false(json_find(text_of("{}"), "x", JSON_STRING, &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(commas_stand_where_they_belong),
    cmocka_unit_test(lines_and_levels_are_indented),
    cmocka_unit_test(long_texts_need_not_be_valid),
    cmocka_unit_test(the_first_failure_of_the_sink_sticks),
    cmocka_unit_test(members_are_found_by_name_and_kind),
    cmocka_unit_test(members_are_sorted_and_held_against_their_names),
    cmocka_unit_test(too_many_members_are_refused),
    cmocka_unit_test(the_last_member_of_a_kind_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
