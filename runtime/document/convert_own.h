/*
** Convert own: what a body says in the place of messages that lack its form.
**
** A conversation keeps its messages as they were given. A body that is written of it is a request, whose messages
** have one form:
**
**     list   {"role":"user","parts":[..]}   {"role":"user","content":"b"}
**     body   {"role":"user","parts":[..]}   {"role":"user","parts":[{"text":"b"}]}
**
** Messages in the body's form keep their bytes. Neighbours in other forms are written anew together, since several may
** become one: the first of them stands for what all become, and the others for nothing. Members that no request has
** stay with what begins with their message.
*/
#ifndef EBB_DOCUMENT_CONVERT_OWN_H
#define EBB_DOCUMENT_CONVERT_OWN_H

#include "document/convert_list.h"

typedef struct OwnForm {
  Memory memory;
  Map places;                /* of messages that are written anew: id -> index in `texts` */
  struct OwnText *texts;     /* in the order of the list */
  uint32_t count, room;
  Buffer bytes;
  Buffer system;             /* the JSON list of system texts that leave the list; empty: none does */
} OwnForm;

/* True if a body of the list may have messages in other forms: items of windows, and messages that were added since it
   was read, or all. O(messages, and the parts of those that count). */
bool   own_form_may_lack(const Document *document, const Conversation *conversation, const Sequence *list, bool all);

/* Writes the messages of a body's list that lack its form, options->target: those that were added, or all. `windows`
   and `system` as for convert_list, but `system` counts only where system texts leave the list. *form needs
   own_form_free in any case. STATUS_MEMORY, STATUS_LIMIT (convert.h). */
Status own_form_of(const Document *document, const Conversation *conversation, const Sequence *list,
                   const WindowTexts *windows, Text system, const ConvertOptions *options, bool all, OwnForm *form,
                   ConvertReport *report);
void   own_form_free(OwnForm *form);

/* What stands in the place of a message; false: it stands itself. */
bool   own_form_find(const OwnForm *form, MessageId id, Text *text);
/* The next message that is written anew: start with *at = 0; false at the end. *text: what stands in its place. */
bool   own_form_next(const OwnForm *form, size_t *at, MessageId *id, Text *text);

#endif
