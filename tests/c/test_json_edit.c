/*
** Edits of members: what is written, and that nothing is when memory ends.
*/
#include "check.h"

#include <string.h>

#include "json/json_edit.h"

/* Edits are written as key, value, key, value; an empty value removes. */
static const struct Row {
  const char *shows, *raw, *edits[6], *wanted;
} rows[] = {
  {"a value replaced, space kept", "{ \"a\" : 1 ,\n\"b\":2 }", {"a", "[3]"}, "{ \"a\" : [3] ,\n\"b\":2 }"},
  {"the first removed", "{ \"a\":1 , \"b\":2 }", {"a", ""}, "{  \"b\":2 }"},
  {"a middle one removed", "{\"a\":1, \"b\":{\"a\":1}, \"c\":3}", {"b", ""}, "{\"a\":1, \"c\":3}"},
  {"the last removed", "{\"a\":1,\"b\":2\n}", {"b", ""}, "{\"a\":1\n}"},
  {"all removed", "{\"a\":1,\"b\":2}", {"b", "", "a", ""}, "{}"},
  {"a new one goes last", "{\"a\":1 }", {"n", "true"}, "{\"a\":1,\"n\":true }"},
  {"new ones in the order of the edits", "{}", {"n", "1", "m", "2"}, "{\"n\":1,\"m\":2}"},
  {"removed, and another added", "{\"a\":1}", {"a", "", "n", "1"}, "{\"n\":1}"},
  {"what is not there is not removed", "{\"a\":1}", {"n", ""}, "{\"a\":1}"},
  {"a key spelled with escapes", "{\"r\\u006fle\":\"x\"}", {"role", "\"y\""}, "{\"r\\u006fle\":\"y\"}"},
  {"a new key that needs escapes", "{}", {"q\"\n", "1"}, "{\"q\\\"\\n\":1}"},
  {"a key twice: both", "{\"a\":1,\"a\":2}", {"a", "0"}, "{\"a\":0,\"a\":0}"},
  {"a nested key is not meant", "{\"a\":{\"b\":1}}", {"b", "2"}, "{\"a\":{\"b\":1},\"b\":2}"},
  {"commas in strings", "{\"a\":\",\",\"b\":\",\"}", {"a", ""}, "{\"b\":\",\"}"},
};

static uint32_t edits_of(const struct Row *row, MemberEdit edits[3]) {
  uint32_t count = 0;
  for (; count < 3 && row->edits[2 * count] != NULL; count++) {
    edits[count] = (MemberEdit){.key = text_of(row->edits[2 * count]), .value = text_of(row->edits[2 * count + 1])};
  }
  return count;
}

static void edits_leave_all_other_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Fail fail = {0};
    Buffer out;
    MemberEdit edits[3];
    buffer_init(&out, fail_memory(&fail));
    uint32_t count = edits_of(&rows[i], edits);
    assert_int_equal(json_edit_members(text_of(rows[i].raw), edits, count, &out), STATUS_OK);
    if (out.size != strlen(rows[i].wanted) || memcmp(out.bytes, rows[i].wanted, out.size) != 0) {
      fail_msg("%s: %.*s", rows[i].shows, (int)out.size, out.bytes);
    }
    buffer_free(&out);
    assert_int_equal(fail.in_use, 0);
  }
}

/* A value so long that the buffer must grow more than once. */
static void without_memory_nothing_was_added(void **state) {
  (void)state;
  static char value[3000];
  memset(value, '1', sizeof value - 1);
  MemberEdit edits[] = {{text_of("a"), text_of(value)}, {text_of("n"), text_of(value)}};
  for (size_t at = 1;; at++) {
    Fail fail = {.fail_at = at};
    Buffer out;
    buffer_init(&out, fail_memory(&fail));
    Status status = json_edit_members(text_of("{\"x\":0,\"a\":1}"), edits, 2, &out);
    if (status != STATUS_OK) {
      assert_int_equal(status, STATUS_MEMORY);
      assert_int_equal(out.size, 0);
    }
    buffer_free(&out);
    assert_int_equal(fail.in_use, 0);
    if (status != STATUS_OK) continue;
    assert_true(at > 2);
    break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(edits_leave_all_other_bytes),
    cmocka_unit_test(without_memory_nothing_was_added),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
