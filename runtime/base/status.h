/*
** Status: how a call ended. Running out of memory is one of the answers; no
** function of the library aborts, exits or prints.
**
** A call that answers anything but STATUS_OK has changed nothing, unless its
** header says otherwise.
*/
#ifndef EBB_BASE_STATUS_H
#define EBB_BASE_STATUS_H

typedef enum Status {
  STATUS_OK = 0,
  STATUS_MEMORY,     /* an allocation failed */
  STATUS_RANGE,      /* no such position, range, batch or message */
  STATUS_ARGUMENT,   /* the values do not go together, or none was given */
  STATUS_LIMIT,      /* a cap was exceeded: bytes, depth, sums */
  STATUS_SYNTAX,     /* not JSON */
  STATUS_ENCODING,   /* not UTF-8 */
  STATUS_SHAPE,      /* JSON, but not a message, list or operation */
  STATUS_ROLE,       /* a role that nobody knows */
  STATUS_DUPLICATE,  /* a key or an id that must be unique stands twice */
  STATUS_GUARDED,    /* a guard holds the message */
  STATUS_ABSENT,     /* a file that is not there, or may not be read */
  STATUS_IO,         /* reading or writing failed */
  STATUS_FORBIDDEN,  /* a path that leads out of the allowed folder, or to what is no regular file */
  STATUS_HOST        /* a callback of the host failed; the host knows why */
} Status;

/* The code that users see: "memory", "out_of_range", ... Never NULL; static. */
const char *status_code(Status status);

#endif
