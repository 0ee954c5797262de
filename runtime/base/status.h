/*
** Status: how a call ended. Running out of memory is a status too: no function of
** the library aborts, exits or prints.
**
** A call that returns anything but STATUS_OK has changed nothing, and its results have no
** meaning, unless its header says otherwise.
**
** In headers the comment of a function ends with the statuses that it may return besides
** STATUS_OK. One without a condition has the meaning below: "STATUS_MEMORY, STATUS_LIMIT."
** A condition follows where it needs one: "STATUS_RANGE unless index < count."
*/
#ifndef EBB_BASE_STATUS_H
#define EBB_BASE_STATUS_H

typedef enum Status {
  STATUS_OK = 0,
  STATUS_MEMORY,     /* an allocation failed */
  STATUS_RANGE,      /* no such position, range, batch or message */
  STATUS_ARGUMENT,   /* values that contradict each other, or a missing one */
  STATUS_LIMIT,      /* a cap was exceeded: bytes, depth, sums */
  STATUS_SYNTAX,     /* not JSON */
  STATUS_ENCODING,   /* not UTF-8 */
  STATUS_SHAPE,      /* JSON, but not a message, list or operation */
  STATUS_ROLE,       /* an unknown role */
  STATUS_DUPLICATE,  /* a key or an id that must be unique occurs twice */
  STATUS_GUARDED,    /* a guard protects the message */
  STATUS_ABSENT,     /* a file that does not exist or may not be read */
  STATUS_IO,         /* reading or writing failed */
  STATUS_FORBIDDEN,  /* a path out of the allowed folder, or to something other than a regular file */
  STATUS_CONFLICT,   /* a file has changed since it was read */
  STATUS_HOST        /* a callback of the host failed; the host knows why */
} Status;

/* The code that users see: "memory", "out_of_range", ... Never NULL; static. */
const char *status_code(Status status);

#endif
