/*
** Memory quotas: what one chat and its forks hold of the runtime's memory, and a limit. They also count how often
** bytes that all of them may show were overwritten.
**
** Batches, drafts and ledgers may outlive their chat in the hands of a script,
** and their blocks come back here: so a quota lives until its last holder and its
** last block are gone.
*/
#include "api/api.h"

#define QUOTA_EXCESS_PART 8      /* the part of the limit that such an edit may take beyond it */

struct MemoryQuota {
  Memory memory;
  size_t used, limit;
  bool allows_excess;              /* an edit that may give memory back may take a little more first */
  uint32_t holders;
  uint64_t redactions;
};

static void end_if_empty(MemoryQuota *quota) {
  Memory memory = quota->memory;
  if (quota->holders == 0 && quota->used == 0) memory_free(&memory, quota, sizeof *quota);
}

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  MemoryQuota *quota = user;
  if (block == NULL) old_size = 0;
  size_t limit = quota->allows_excess ? quota->limit + quota->limit / QUOTA_EXCESS_PART : quota->limit;
  bool grows = new_size > old_size && limit > 0;
  if (grows && (quota->used > limit || new_size - old_size > limit - quota->used)) return NULL;
  void *answer = quota->memory.allocate(quota->memory.user, block, old_size, new_size);
  if (answer == NULL && new_size > 0) return NULL;
  quota->used = quota->used - old_size + new_size;
  if (new_size == 0) end_if_empty(quota);
  return answer;
}

MemoryQuota *quota_new(const Memory *memory, size_t limit) {
  MemoryQuota *quota = memory_new(memory, sizeof *quota);
  if (quota != NULL) *quota = (MemoryQuota){.memory = *memory, .limit = limit, .holders = 1};
  return quota;
}

MemoryQuota *quota_share(MemoryQuota *quota) {
  quota->holders++;
  return quota;
}

void quota_release(MemoryQuota *quota) {
  quota->holders--;
  end_if_empty(quota);
}

void quota_allow_excess(MemoryQuota *quota, bool allows_excess) { quota->allows_excess = allows_excess; }

void quota_note_redaction(MemoryQuota *quota) { quota->redactions++; }

uint64_t quota_redactions(const MemoryQuota *quota) { return quota->redactions; }

size_t quota_used(const MemoryQuota *quota) { return quota->used; }

Memory quota_memory(MemoryQuota *quota) { return (Memory){.allocate = allocate, .user = quota}; }
