/*
** Texts with many NULs, which scripts may not have.
**
** Lua compares texts with strcoll, piece by piece between NULs: 5 ns for each NUL, and 0.02 ns for each other byte.
** A comparison is one instruction, which no hook interrupts: `a < b` on two texts of 4 MiB of NULs took 12 to 33 ms.
** The allocator does not know what a text will hold. So it notes each new text that is long enough, and the script's
** next instruction, before which no script can keep the text, counts its NULs and raises an error.
*/
#include <assert.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

void dense_note(Sandbox *sandbox, BlockHead *head, size_t size) {
  assert(size > SANDBOX_NULS);
  head->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  head->next = sandbox->uncounted;
  sandbox->uncounted = head;
}

void dense_forget(Sandbox *sandbox, const BlockHead *head) {
  for (BlockHead **link = &sandbox->uncounted; *link != NULL; link = &(*link)->next) {
    if (*link != head) continue;
    *link = head->next;
    return;
  }
}

/* Eight bytes at a time: the sum of a lane is below 256 after 255 of them. */
static size_t count_nuls(const char *bytes, size_t size) {
  const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), ones = UINT64_C(0x0101010101010101);
  const uint64_t even = UINT64_C(0x00ff00ff00ff00ff), pairs = UINT64_C(0x0001000100010001);
  size_t count = 0, i = 0;
  while (size - i >= sizeof low) {
    uint64_t lanes = 0, word;
    for (int n = 0; n < 255 && size - i >= sizeof word; n++, i += sizeof word) {
      memcpy(&word, bytes + i, sizeof word);
      lanes += ~(((word & low) + low) | word) >> 7 & ones;
    }
    count += ((lanes & even) + (lanes >> 8 & even)) * pairs >> 48;
  }
  for (; i < size; i++) count += bytes[i] == '\0';
  return count;
}

void dense_refuse(Sandbox *sandbox, lua_State *L) {
  bool dense = false;
  for (const BlockHead *head = sandbox->uncounted; head != NULL && !dense; head = head->next) {
    const char *text = (const char *)head + sizeof *head + STRING_HEADER;
    sandbox->credit -= head->size / 64;
    dense = count_nuls(text, head->size - STRING_HEADER - 1) > SANDBOX_NULS;   /* without the one that ends it */
  }
  sandbox->uncounted = NULL;
  if (!dense || !holds(sandbox, GUARD_DENSE)) return;
  luaL_where(L, 0);
  lua_pushfstring(L, "a text has more than %d NUL bytes: comparing it would take too long", (int)SANDBOX_NULS);
  lua_concat(L, 2);
  lua_error(L);
}
