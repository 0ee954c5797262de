/*
** The operating system: files, folders, clocks, and what else the library asks of it. The only face of this
** layer; a port is a folder beside posix/ with the same functions.
**
**     the process    Clock, entropy, Locale, program, descriptor, SharedLibrary
**     folders        Folder, ContainedDir
**     files          FileReader, FileAhead, FileMap, FileLook, FileTarget, FileLock
**     writing        FileWriter, FileGather, FileGuard
*/
#ifndef EBB_OS_OS_H
#define EBB_OS_OS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"

/* ---- clocks: times of day and durations ---- */

/* A host may replace the time of day by one of its own, so that runs can be repeated. */
typedef struct Clock {
  int64_t (*now_ms)(void *user);   /* milliseconds since 1970, UTC */
  void *user;
} Clock;

/* The system's time of day. */
Clock clock_system(void);
int64_t clock_now(const Clock *clock);      /* milliseconds since 1970, UTC */

/* For measuring durations: the time that has passed since some moment. It never falls and is cheap to read. 0 if the
   system has no such clock. */
uint64_t clock_monotonic_ns(void);
static inline int64_t clock_monotonic_us(void) { return (int64_t)(clock_monotonic_ns() / 1000); }
static inline int64_t clock_monotonic_ms(void) { return (int64_t)(clock_monotonic_ns() / 1000000); }
/* Waits about so many microseconds; a signal may end it earlier. */
void clock_sleep_us(int64_t us);
/* CPU time of this thread; 0 if the system has no such clock. */
uint64_t clock_thread_ns(void);

/* ---- entropy ---- */

/* A new key for hashing texts of unknown origin. Never blocks: while the system
   has no randomness yet, early in its start, the key is made from the time and the
   addresses of this process. */
HashKey entropy_hash_key(void);

/* ---- locale ----
**
** Numbers and letters that do not depend on the program's locale. A program under LC_ALL=de_DE writes 1.5 as "1,5",
** and C's strtod reads "0.75" as 0. JSON and Lua must not. Code that formats, parses or classifies therefore switches
** its thread to the C locale and then back. The program's own locale and other threads are not affected.
**
**     Locale before = locale_plain();
**     snprintf(text, sizeof text, "%.17g", number);
**     locale_set(before);
**
** Takes no memory: the C locale is static in glibc and musl. A switch costs about 10 ns. */

/* POSIX: a locale_t, which plain C11 headers do not declare; may be NULL. */
typedef void *Locale;

/* Switches this thread to the C locale and returns its previous one. */
Locale locale_plain(void);
/* Switches this thread to `locale` (NULL: no change) and returns its previous one. */
Locale locale_set(Locale locale);

/* ---- program and descriptors ---- */

/* Writes the path of the program, or of the shared module (*.so) that has this code, and
   returns its size; 0 if it is unknown or does not fit. No NUL follows. */
size_t program_path(char *path, size_t room);

/* The number of this process; after fork the child has another one. */
int64_t program_process(void);

/* Waits until the descriptor of a library's socket can be read, or written if `writes`, for at most so many
   milliseconds. 1: it can be, or has an error that reading will tell; 0: the time is over, or a signal came; -1: the
   system refuses. */
int descriptor_wait(int descriptor, bool writes, int64_t ms);

/* ---- shared libraries ----
**
** Functions of libraries that are loaded on first use: a start costs nothing, and a machine without one of them runs
** everything else. libebb, which loads none, is linked without these functions.
**
** A library is loaded once in a process, whichever thread is the first to need it. Its functions are found under a
** lock, and `is_ready` is set when the table is full: no thread sees a part of it. */

/* Static: what is not named is zero. */
typedef struct SharedLibrary {
  const char *const *names;        /* of its builds, of which the first that can be used is taken; NULL ends them */
  const char *const *functions;    /* NULL ends them */
  void *table;                     /* a struct of pointers to these functions, in this order, and of nothing else */
  bool (*begin)(void);             /* called once when the table is full; false: it cannot be used. NULL: nothing.
                                      It loads no other library. */
  atomic_bool is_ready;
} SharedLibrary;

/* True if the table can be used. False: no build is installed that has all functions; *why, if not NULL, is the
   system's description, valid until this thread's next call. The next call tries again. */
bool shared_library_load(SharedLibrary *library, const char **why);

/* ---- folders ---- */

/* An open folder; NULL: closed. */
typedef struct Folder {
  void *entries;
} Folder;

/* STATUS_ABSENT, with errno. */
Status      folder_open(Folder *folder, const char *path);
/* The next name, without "." and "..", in no particular order, valid until the next call;
   NULL at the end. */
const char *folder_next(Folder *folder);
void        folder_close(Folder *folder);      /* a closed one is allowed */

/* Makes a folder and those above it, unless they exist. `path` is overwritten during the
   call; on failure it ends with the folder that could not be made. STATUS_IO, with errno. */
Status      folder_make(char *path);

/*
** Contained folder: reads files of one folder by untrusted names.
**
** Only regular files below the folder are read: no `..`, no absolute path, no link
** anywhere on the path, no device, FIFO or socket. Such files are not even opened, so
** that reading never blocks and has no effect on them. The folder itself is chosen by
** the host and may be reached through links.
*/
typedef struct ContainedDir {
  int folder;           /* stays the same folder if its name changes; -1: closed */
  bool walks;           /* the kernel has no openat2: names are walked one by one */
} ContainedDir;

/* Opens the folder. STATUS_ABSENT, STATUS_IO (not a folder; errno has details): *dir is closed then. */
Status contained_dir_open(ContainedDir *dir, const char *path);

/* Adds the bytes of a file to *out. `path` is plain, relative to the folder, and may
   have any bytes. On failure *out is unchanged and *why is a static description:
     STATUS_FORBIDDEN   the path leads out of the folder, or to something other than a regular file
     STATUS_ABSENT      the file does not exist or may not be read
     STATUS_LIMIT       it has more than `cap` bytes; none was read
     STATUS_IO          reading failed, or the file changed meanwhile
     STATUS_MEMORY */
Status contained_dir_read(ContainedDir *dir, Text path, size_t cap, Buffer *out, const char **why);

void contained_dir_close(ContainedDir *dir);       /* a closed folder is allowed */

/* ---- reading files ----
**
** Errors of all functions for files: STATUS_ABSENT (cannot be opened), STATUS_LIMIT (over the cap),
** STATUS_IO, STATUS_MEMORY. errno has details for ABSENT and IO. */

/* Reads a file into one block, in steps, so that its first bytes may decide how many
** are allowed:
**
**     file_open     determines the size, if possible
**     file_peek     `bytes` has the first bytes
**     file_rest     `bytes` has all; STATUS_LIMIT after reading no more than the cap
**
** A known size is checked against the cap before memory is allocated. The caller may
** take `bytes` over (NULL: an empty file), set it to NULL and free it with `capacity`;
** file_close frees it otherwise. */
typedef struct FileReader {
  Memory memory;
  int descriptor;
  bool standard;        /* standard input, which is not closed */
  bool sized;           /* `left` is known: the bytes that the file had when it was opened */
  size_t left;
  char *bytes;
  size_t size, capacity;
} FileReader;

Status file_open(FileReader *reader, const Memory *memory, const char *path);   /* "-": standard input */
/* Reads until there are `size` bytes, or to the end of the file. */
Status file_peek(FileReader *reader, size_t size);
/* Reads all of the file; STATUS_LIMIT if it has more than `cap` bytes. */
Status file_rest(FileReader *reader, size_t cap);
/* The same in small steps, for files of known size: file_reserve makes room for
   `capacity` bytes in all, file_some reads a few megabytes; *end: the end was reached. */
Status file_reserve(FileReader *reader, size_t capacity);
Status file_some(FileReader *reader, bool *end);
void   file_close(FileReader *reader);      /* frees `bytes`, unless they are NULL */

/* Reads a file in one call. *bytes (NULL: an empty file) is the caller's, who frees it with *capacity. */
Status file_read(const Memory *memory, const char *path, size_t cap, char **bytes, size_t *size, size_t *capacity);

/* Which file a name leads to, and in which state. */
typedef struct FileIdentity {
  uint64_t device, inode, size;
  int64_t modified_s, modified_ns;
} FileIdentity;

/* STATUS_ABSENT, STATUS_IO. */
Status file_identify(const char *path, FileIdentity *identity);

typedef struct FileLook {
  bool exists, regular, writable;
  uint64_t size;
} FileLook;

/* Looks at a file without opening it. No file is no failure. STATUS_IO, with errno. */
Status file_look(const char *path, FileLook *look);

/* The file to which a name leads. All names of one file give equal targets. */
typedef struct FileTarget {
  uint64_t device, inode;   /* of the file; of its folder, while there is no file */
  const char *name;         /* NULL: the file exists. Else its name in the folder, a part of the path. */
} FileTarget;

/* False if neither the file nor its folder exists. */
bool   file_target(const char *path, FileTarget *target);

/*
** Reading ahead: a thread reads a large file into its block while the caller uses
** the bytes that are already there.
**
**     block    [ in use | read | being read | not read yet ]
**                               ^ available
**
** Half of the time that a large file takes is spent by the system, which makes pages
** and copies into them; reading ahead overlaps it with the caller's work. The thread
** touches only the block, the descriptor and the FileAhead, and allocates nothing.
**
** Ownership: the block belongs to the reader. It may be used up to `available` and
** freed after file_ahead_end. A FileAhead is used by one thread.
*/
typedef struct FileAhead FileAhead;

/* Starts to read the rest of a file of known size; bytes added meanwhile are not read.
   NULL, and nothing has changed, if it would not pay (a small file, one processor) or
   there is no memory or no thread. */
FileAhead *file_ahead_start(FileReader *reader);

/* Waits until more than *available bytes are read, or all. *available: bytes read so
   far; *size: bytes in the end, fewer than before if the file has shrunk. STATUS_IO,
   with errno. */
Status     file_ahead_wait(FileAhead *ahead, size_t *available, size_t *size);

/* Stops the thread; the reader's `size` is then the number of bytes read. NULL is allowed. */
void       file_ahead_end(FileAhead *ahead);

#ifndef EBB_MINIMAL
/* A regular file in memory, read-only, whose pages are read on first use. */
typedef struct FileMap {
  const void *bytes;
  size_t size;
  FileIdentity identity;     /* when it was mapped */
} FileMap;

/* Maps a file. Never blocks on a FIFO or a device. STATUS_ABSENT, STATUS_IO (errno has
   details), STATUS_MEMORY; STATUS_SHAPE: empty, or not a regular file; STATUS_LIMIT: more than
   `cap` bytes. Where the file is cut short later, reading the missing pages raises SIGBUS. */
Status file_map(const char *path, size_t cap, FileMap *map);
void   file_unmap(const void *bytes, size_t size);
#endif

/* ---- locks: one writer at a time ----
**
** A lock belongs to an open file; the system releases it when the file is closed or the process ends, also by a
** signal. */

typedef enum FileLock {
  FILE_LOCKED,         /* until the descriptor and its copies are closed */
  FILE_LOCK_TAKEN,     /* another open file has the lock */
  FILE_LOCK_NONE       /* the file system has no locks, or none for this descriptor */
} FileLock;

/* Tries to lock an open file; never waits. The descriptor must be open for writing. */
FileLock file_lock(int descriptor);

/* Locks a file, which is created where it is missing, for the time until file_lock_end. Returns a number for that, or
   -1: another open file has the lock, or it cannot be had. */
int  file_lock_begin(const char *path);
void file_lock_end(int lock);

/* ---- writing files ---- */

/* What the new file does not keep of the one that it replaces, as bits. */
enum {
  FILE_LOST_OWNER = 1,
  FILE_LOST_GROUP = 2,      /* the group's rights are those of all others then */
  FILE_LOST_EXTENDED = 4,   /* extended attributes, lists of access rights among them */
  FILE_LOST_NAMES = 8       /* other names of the old file (hard links) keep its content */
};

/* A temporary file while it exists. */
typedef struct TemporaryFile {
  struct TemporaryFile *next;
  const char *path;          /* NULL: not listed */
  int process;               /* a child does not remove its parent's */
} TemporaryFile;

/* What a program that owns its signals does while files are written, so that no signal leaves a temporary file. A
   library has no hooks: signals are its host's. */
typedef struct FileHooks {
  void (*hold)(void);                 /* makes signals wait, until `release`; not nested */
  void (*release)(void);
  bool (*is_interrupted)(void);       /* no file may be replaced any more */
  /* These are called while signals wait. */
  void (*add)(TemporaryFile *file, const char *path);   /* a new temporary file; the path lives as long as it */
  void (*remove)(TemporaryFile *file);                  /* it is gone, or was never added */
  void (*replaced)(void);                               /* a file has got its new content */
} FileHooks;

/* Sets the hooks of this process. They must live as long as it does. */
void file_set_hooks(const FileHooks *hooks);

/* Writes a file. Path "-" is standard output; any other file appears under its name
   only when file_commit succeeds. The writer stays where it is until it has ended. */
typedef struct FileWriter {
  int descriptor;
  char *path;           /* NULL: standard output */
  char *temporary;
  TemporaryFile listed;
  bool escapes;         /* a terminal: hidden characters are written as JSON escapes (utf8_is_hidden, from DEL on) */
  char held[4];         /* the start of a character whose rest has not come, of a writer that escapes */
  size_t held_size;
  int lost;             /* of the file that is replaced: bits of FILE_LOST_* */
  bool guarded;         /* the caller sets both: */
  FileIdentity unchanged;   /* file_commit answers STATUS_CONFLICT for a file in another state */
  Memory memory;
} FileWriter;

Status file_create(FileWriter *writer, const Memory *memory, const char *path);
Status file_write(FileWriter *writer, const void *bytes, size_t size);   /* writes all bytes */
/* Flushes to disk and renames; ends the writer either way. */
Status file_commit(FileWriter *writer);
void   file_abandon(FileWriter *writer);    /* removes the temporary; ends the writer */

/*
** Small pieces of a file, gathered: a call of the system for each would take longer than to copy it.
**
**     file_create -> file_gather_begin -> file_gather ... -> file_gather_flush -> file_commit
*/

/* Holds nothing that must be freed; what was gathered and not flushed is not written. */
typedef struct FileGather {
  FileWriter *writer;        /* borrowed */
  size_t size;
  char bytes[16 << 10];
} FileGather;

void file_gather_begin(FileGather *gather, FileWriter *writer);

/* Both fail as file_write does: STATUS_IO, and errno says why. The bytes of an earlier piece may be those that fail. */
Status file_gather(FileGather *gather, const void *bytes, size_t size);
Status file_gather_flush(FileGather *gather);

#endif
