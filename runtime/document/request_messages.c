#include "document/request_messages.h"

#include <assert.h>

static Status note_positions(RequestMessages *messages, const Sequence *list) {
  Status status = STATUS_OK;
  uint32_t position = 0;
  if (sequence_sum(list).windows == 0) return STATUS_OK;
  SequenceWalk walk = sequence_walk(list, 0, sequence_count(list));
  while (status == STATUS_OK && sequence_walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.count && status == STATUS_OK; i++) {
      status = map_put(&messages->positions, walk.ids[i], position++);
    }
  }
  assert(status != STATUS_OK || position == sequence_count(list));
  return status;
}

Status request_messages_of(const Conversation *conversation, const Sequence *list, const WindowTexts *windows,
                           RequestMessages *messages) {
  const Memory *memory = conversation_memory(conversation);
  *messages = (RequestMessages){.conversation = conversation, .windows = windows};
  Status status = request_order_of(memory, conversation_windows(conversation), conversation_store(conversation), list,
                                   false, &messages->order);
  if (status != STATUS_OK) return status;
  map_init(&messages->positions, *memory);
  status = note_positions(messages, list);
  if (status != STATUS_OK) request_messages_free(messages);
  return status;
}

void request_messages_free(RequestMessages *messages) {
  request_order_free(&messages->order);
  map_free(&messages->positions);
}

Text request_messages_raw(const RequestMessages *messages, uint32_t index) {
  assert(index < messages->order.count);
  MessageId id = messages->order.ids[index];
  const Message *message = conversation_message(messages->conversation, id);
  if (!message_is_window(message)) return message_raw(message);
  return messages->windows == NULL ? text_plain("", 0) : messages->windows->text(messages->windows->user, id);
}

uint32_t request_messages_position(const RequestMessages *messages, uint32_t index) {
  assert(index < messages->order.count);
  const uint64_t *position = map_find(&messages->positions, messages->order.ids[index]);
  return position == NULL ? index : (uint32_t)*position;
}
