/*
** Accounts: what one chat and its forks hold of the runtime's memory, and a limit.
**
** Batches, drafts and ledgers may outlive their chat in the hands of a script,
** and their blocks come back here: so an account lives until nobody holds it and
** no block is left.
*/
#include "api/api.h"

#define ACCOUNT_SLACK 8      /* the part of the limit that such an edit may take beyond it */

struct Account {
  Memory memory;
  size_t used, limit;
  bool lets_go;              /* an edit that may give memory back may take a little more first */
  uint32_t holders;
};

static void end_if_empty(Account *account) {
  Memory memory = account->memory;
  if (account->holders == 0 && account->used == 0) memory_free(&memory, account, sizeof *account);
}

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Account *account = user;
  if (block == NULL) old_size = 0;
  size_t limit = account->lets_go ? account->limit + account->limit / ACCOUNT_SLACK : account->limit;
  bool grows = new_size > old_size && limit > 0;
  if (grows && (account->used > limit || new_size - old_size > limit - account->used)) return NULL;
  void *answer = account->memory.allocate(account->memory.user, block, old_size, new_size);
  if (answer == NULL && new_size > 0) return NULL;
  account->used = account->used - old_size + new_size;
  if (new_size == 0) end_if_empty(account);
  return answer;
}

Account *account_new(const Memory *memory, size_t limit) {
  Account *account = memory_new(memory, sizeof *account);
  if (account != NULL) *account = (Account){.memory = *memory, .limit = limit, .holders = 1};
  return account;
}

Account *account_share(Account *account) {
  account->holders++;
  return account;
}

void account_release(Account *account) {
  account->holders--;
  end_if_empty(account);
}

void account_let_go(Account *account, bool lets_go) { account->lets_go = lets_go; }

size_t account_used(const Account *account) { return account->used; }

Memory account_memory(Account *account) { return (Memory){.allocate = allocate, .user = account}; }
