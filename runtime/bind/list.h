/*
** Queries that conversations, batches and drafts have in common.
*/
#ifndef EBB_BIND_LIST_H
#define EBB_BIND_LIST_H

#include "bind/view.h"
#include "core/operation.h"

/* The conditions of where{} or a walk, all of which must hold. Texts and lists are borrowed from the options at stack
   index `table`. */
typedef struct Conditions {
  int table;
  unsigned roles;
  bool has_since, has_before;
  int64_t since, before;
  bool has_marked, has_matches, has_calls, has_obsolete, has_important;
  bool empty;                                      /* only messages that say nothing */
  bool windows, has_window, obsolete, important;   /* windows: items of windows only, */
  Text window;                                     /* or only of this one */
  Text marked, calls;
  unsigned kinds;                                  /* bits, 1 << PartKind; 0: no condition */
  TextList names, ids;
} Conditions;

/* Reads the options at index, whose keys must be among `names`; raises. */
Conditions bind_conditions(lua_State *L, int index, const char *const *names);
/* True if a message of the view satisfies the conditions. May call string.find, so it may raise. */
bool  bind_passes(lua_State *L, const View *view, const Conditions *conditions, MessageId id);

/* Key of the registry for string.find, as it was when the module was opened. */
extern const char BIND_FIND;
/* list[position] for a number at 2, nil outside; #list. */
int   bind_view_get(lua_State *L);
int   bind_view_length(lua_State *L);
/* common_ends(a, b) -> how many messages are the same bytes in both lists, from the front; from the end, of the rest */
int   bind_common_ends(lua_State *L);
void  bind_open_list(lua_State *L, const BindType *type);  /* adds the queries to a type */

#endif
