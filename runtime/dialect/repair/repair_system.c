/*
** System messages that the target takes elsewhere, or under another role. All they say stays:
**
**     anthropic   assistant | system | user | assistant    ->   assistant | user | system | assistant
**                 user | assistant | system                ->   user | assistant | user           no place follows
**     openai      system a | user | system b | user        ->   system a, b | user | user       one may, the first
**                 user | system a                          ->   system a | user
**                 developer a                              ->   system a                        or a user's
**
** Anthropic's newest models take system messages of text behind a turn of the user, before one of the assistant or at
** the end.
*/
#include <assert.h>

#include "dialect/repair/repair_plan.h"

#define MOVED "place of a system message"
#define LATE "late system message"

static bool is_system(const Plan *plan, uint32_t index) {
  return index < plan->count && message_role(plan_message(plan, index)) == ROLE_SYSTEM;
}

/* Plans to write a message with another role. */
static Status write_role(Plan *plan, uint32_t index, const char *role, const char *reason) {
  size_t at = plan->bytes.size;
  Status status = plan_put_renamed(plan, message_raw(plan_message(plan, index)), "role", NULL, text_of(role),
                                   &plan->bytes);
  return status == STATUS_OK ? plan_step(plan, PLAN_REWRITE, index, at, reason) : status;
}

static Status write_as_user(Plan *plan, uint32_t index) {
  plan_lose(plan, CHANGE_SYSTEM, index, NO_TEXT);
  return write_role(plan, index, "user", "system message as a user's");
}

/* ---- anthropic: places among the others ---- */

typedef struct SystemMoves {
  Plan *plan;
  uint32_t *waiting;         /* the messages that go to the next place */
  uint32_t count;
  uint32_t last;             /* the last place of the list; 0: there is none */
  Role before;               /* whose turn stands before; ROLE_NONE: there is none */
} SystemMoves;

static bool is_assistant(const Plan *plan, uint32_t index) {
  return message_role(plan_message(plan, index)) == ROLE_ASSISTANT;
}

/* True if the assistant's turn, or the end, follows `index`, whatever system messages stand between. */
static bool precedes_assistant(const Plan *plan, uint32_t index) {
  while (is_system(plan, index)) index++;
  return index == plan->count || is_assistant(plan, index);
}

static void find_last_place(SystemMoves *moves) {
  const Plan *plan = moves->plan;
  Role before = ROLE_NONE;
  for (uint32_t i = 0; i <= plan->count; i++) {
    if (is_system(plan, i)) continue;
    if (before == ROLE_USER && precedes_assistant(plan, i)) moves->last = i;
    if (i < plan->count) before = is_assistant(plan, i) ? ROLE_ASSISTANT : ROLE_USER;
  }
}

/* Plans to put the messages that wait before the one at `index`. */
static Status put_waiting(SystemMoves *moves, uint32_t index) {
  Plan *plan = moves->plan;
  Status status = STATUS_OK;
  if (moves->before != ROLE_USER || !precedes_assistant(plan, index)) return status;
  for (uint32_t i = 0; i < moves->count && status == STATUS_OK; i++) {
    Text raw = message_raw(plan_message(plan, moves->waiting[i]));
    size_t at = plan->bytes.size;
    status = buffer_add(&plan->bytes, raw.bytes, raw.size);
    if (status == STATUS_OK) status = plan_step(plan, PLAN_PLACE, index, at, MOVED);
    if (status == STATUS_OK) status = plan_source(plan, moves->waiting[i]);
  }
  moves->count = 0;
  return status;
}

/* Plans what becomes of the system message at `index`. */
static Status place_system(SystemMoves *moves, uint32_t index) {
  Plan *plan = moves->plan;
  bool follows = moves->before == ROLE_USER ||
                 (moves->before != ROLE_NONE && message_may_go_on(plan_message(plan, index - 1)));
  bool is_text = message_is_text(plan_message(plan, index));
  if (follows && precedes_assistant(plan, index) && is_text) return STATUS_OK;
  if (is_text && moves->last > index) {
    moves->waiting[moves->count++] = index;
    return plan_step(plan, PLAN_LEAVE, index, plan->bytes.size, MOVED);
  }
  moves->before = ROLE_USER;
  return write_as_user(plan, index);
}

static Status plan_places(Plan *plan) {
  SystemMoves moves = {.plan = plan, .before = ROLE_NONE};
  Status status = STATUS_OK;
  if (!plan_is_repairing(plan, CHECK_SYSTEM_PLACE)) return status;
  moves.waiting = memory_new_array(&plan->memory, (size_t)plan->count + 1, sizeof *moves.waiting);
  if (moves.waiting == NULL) return STATUS_MEMORY;
  find_last_place(&moves);
  for (uint32_t i = 0; i <= plan->count && status == STATUS_OK; i++) {
    status = put_waiting(&moves, i);
    if (status != STATUS_OK || i == plan->count) break;
    if (is_system(plan, i)) status = place_system(&moves, i);
    else moves.before = is_assistant(plan, i) ? ROLE_ASSISTANT : ROLE_USER;
  }
  assert(status != STATUS_OK || moves.count == 0);
  memory_free(&plan->memory, moves.waiting, ((size_t)plan->count + 1) * sizeof *moves.waiting);
  return status;
}

/* ---- openai: one message at the beginning ---- */

/* True for a content that is a text with something in it. */
static bool says_text(const Message *message) {
  return message_content_kind(message) == CONTENT_STRING && message_content(message).size > 0;
}

/* Adds the content of the system messages from `first` on as one text. */
static Status put_texts(const Plan *plan, uint32_t first, Buffer *out) {
  Status status = buffer_add_byte(out, '"');
  bool any = false;
  for (uint32_t i = first; i < plan->count && status == STATUS_OK; i++) {
    const Message *message = plan_message(plan, i);
    if (!is_system(plan, i) || !says_text(message)) continue;
    status = plan_put(out, any ? "\\n\\n" : "", message_content(message), "");
    any = true;
  }
  return status == STATUS_OK ? buffer_add_byte(out, '"') : status;
}

/* Adds the same as parts. */
static Status put_parts(const Plan *plan, uint32_t first, Buffer *out) {
  static const char before[] = "{\"type\":\"text\",\"text\":\"";
  Status status = buffer_add_byte(out, '[');
  size_t start = out->size;
  for (uint32_t i = first; i < plan->count && status == STATUS_OK; i++) {
    const Message *message = plan_message(plan, i);
    if (!is_system(plan, i)) continue;
    if (says_text(message)) {
      if (out->size > start) status = buffer_add_byte(out, ',');
      if (status == STATUS_OK) status = plan_put(out, before, message_content(message), "\"}");
    }
    for (uint32_t k = 0; k < message_part_count(message) && status == STATUS_OK; k++) {
      Text raw = message_text(message, message_part(message, k).value);
      if (message_content_kind(message) != CONTENT_PARTS || message_part(message, k).nested) continue;
      if (out->size > start) status = buffer_add_byte(out, ',');
      if (status == STATUS_OK) status = buffer_add(out, raw.bytes, raw.size);
    }
  }
  return status == STATUS_OK ? buffer_add_byte(out, ']') : status;
}

static bool is_developer(const Plan *plan, uint32_t index) {
  return text_is(message_role_text(plan_message(plan, index)), "developer");
}

/* Writes the first system message with what all of them say. */
static Status put_joined(Plan *plan, uint32_t first) {
  bool has_parts = false;
  for (uint32_t i = first; i < plan->count; i++) {
    has_parts |= is_system(plan, i) && message_content_kind(plan_message(plan, i)) == CONTENT_PARTS;
  }
  Buffer content;
  buffer_init(&content, plan->memory);
  Status status = has_parts ? put_parts(plan, first, &content) : put_texts(plan, first, &content);
  MemberEdit edits[] = {{.key = text_of("content"), .value = text_plain(content.bytes, content.size)},
                        {.key = text_of("role"), .value = text_of("\"system\"")}};
  bool renames = is_developer(plan, first) && plan_is_repairing(plan, CHECK_DEVELOPER_ROLE);
  if (status == STATUS_OK) {
    status = json_edit_members(message_raw(plan_message(plan, first)), edits, renames ? 2 : 1, &plan->bytes);
  }
  buffer_free(&content);
  return status;
}

/* Reports the members of a message but its role and content; null says nothing. */
static void lose_members(Plan *plan, uint32_t index) {
  Text key, name, raw = message_raw(plan_message(plan, index));
  Json json;
  JsonValue value;
  if (message_field(plan_message(plan, index), FIELD_NAME, &name)) plan_lose(plan, LOSS_NAME, index, name);
  json_open_valid(&json, raw.bytes, raw.size);
  json_enter(&json);
  while (json_next_member(&json, &key) && json_value(&json, &value)) {
    bool is_told = text_is(key, "role") || text_is(key, "content") || text_is(key, "name");
    if (!is_told && value.kind != JSON_NULL) plan_lose(plan, LOSS_MEMBER, index, key);
  }
}

/* Plans to drop a message whose text the first one has. */
static Status drop_joined(Plan *plan, uint32_t index) {
  plan_lose(plan, CHANGE_PLACE, index, NO_TEXT);
  lose_members(plan, index);
  return plan_step(plan, PLAN_DROP, index, plan->bytes.size, "joined to the message before");
}

/* Plans to join the system messages into one at the beginning. `last`: the last of them, which stands late. */
static Status join_system(Plan *plan, uint32_t first, uint32_t last) {
  size_t at = plan->bytes.size;
  Status status = put_joined(plan, first);
  if (status == STATUS_OK) status = plan_step(plan, first == 0 ? PLAN_REWRITE : PLAN_PLACE, 0, at, LATE);
  for (uint32_t i = first; i <= last && status == STATUS_OK; i++) {
    if (is_system(plan, i)) status = plan_source(plan, i);
  }
  if (first > 0) plan_lose(plan, CHANGE_PLACE, first, NO_TEXT);
  if (status == STATUS_OK && first > 0) {
    status = plan_step(plan, PLAN_LEAVE, first, plan->bytes.size, LATE);
  }
  for (uint32_t i = first + 1; i <= last && status == STATUS_OK; i++) {
    if (is_system(plan, i)) status = drop_joined(plan, i);
  }
  return status;
}

/* Plans the roles of system messages that stay where they are. */
static Status write_roles(Plan *plan) {
  bool takes_none = plan_is_repairing(plan, CHECK_SYSTEM_ROLE);
  bool renames = plan_is_repairing(plan, CHECK_DEVELOPER_ROLE);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < plan->count && status == STATUS_OK; i++) {
    if (!is_system(plan, i)) continue;
    if (takes_none) status = write_as_user(plan, i);
    else if (renames && is_developer(plan, i)) status = write_role(plan, i, "system", "role developer");
  }
  return status;
}

static Status plan_roles(Plan *plan) {
  uint32_t first = UNPAIRED, last = 0;
  for (uint32_t i = 0; i < plan->count; i++) {
    if (!is_system(plan, i)) continue;
    if (first == UNPAIRED) first = i;
    last = i;
  }
  bool joins = last > 0 && plan_is_repairing(plan, CHECK_SYSTEM_LATE) && !plan_is_repairing(plan, CHECK_SYSTEM_ROLE);
  return joins ? join_system(plan, first, last) : write_roles(plan);
}

Status plan_system(Plan *plan) {
  Dialect dialect = plan->options->target.dialect;
  if (dialect == DIALECT_ANTHROPIC) return plan_places(plan);
  return dialect == DIALECT_OPENAI ? plan_roles(plan) : STATUS_OK;
}
