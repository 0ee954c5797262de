/*
** Host: what the command gives to its Lua side.
*/
#ifndef EBB_HOST_HOST_H
#define EBB_HOST_HOST_H

#include <stdbool.h>

#include "lua.h"

#define ANSWER_BYTES_MAX (64u * 1024 * 1024)   /* of a command, or of a provider */
#define ANSWER_TOO_LONG "its answer is longer than 64 MiB"
#define HISTORY_MAX      1000                  /* lines of the prompt that are kept */

/* Makes the embedded modules, lpeg, ebb.core and ebb.host available to
   `require`, before any file of that name. */
void host_open(lua_State *L);

/* How many of package.searchers load Lua code: preload, embedded modules, files. The others load libraries in C. */
#define HOST_LUA_SEARCHERS 3

/* From now on an interrupt (Ctrl-C) raises an error in L, again and again until
   nothing is left to catch it; a second one ends the process. */
void host_watch_interrupt(lua_State *L);
bool host_interrupted(void);
/* The coroutine that an interrupt reaches from now on; answers the one before. */
lua_State *host_watch_coroutine(lua_State *co);
/* Raises the interrupt in L too, if it has come. */
void host_raise_interrupt(lua_State *L);
/* Puts coroutine.resume and wrap that do so in the place of Lua's. */
void host_open_coroutines(lua_State *L);

/* True if the descriptor is a pipe that nothing reads any more. */
bool host_reader_is_gone(int descriptor);

/* ---- functions of the module ebb.host ---- */

/* interruptible(call, handler) -> as xpcall; Ctrl-C ends the call with an
   error, and leaves no trace in L after it. */
int host_interruptible(lua_State *L);

/* converse(command, input, seconds, {variables?, hear?}?) -> output, or nil and why: runs a shell command with input
   on its standard input. It is ended when its time is over; what it has written when the shell ends is the output.
   `variables`: names of the environment's variables that it gets (LC_* means all that begin so); nil: all.
   hear(bytes) gets what it writes to standard error, piece by piece; nil: that is ours. */
int host_converse(lua_State *L);

/* dialogue(command, {variables?, hear?}?) -> Dialogue, or nil and why: a shell command that goes on.
   dialogue:say(text, seconds, wants_line?) -> the next line that it writes, or true; nil and why not.
   dialogue:close(): ends it. */
int host_dialogue(lua_State *L);

/* http({url, headers = {line ...}, body, seconds?, connect_seconds?, idle_seconds?}, hear?) -> status, head, body; or
   nil, why, "absent" (no libcurl), "connect", "timeout", "cut" or "limit". A POST. hear(status, head, bytes) gets
   the answer as it comes. */
int host_http(lua_State *L);

/* unpack(bytes, limit) -> text; or nil, why, and "absent" (no library), "limit" or "broken": bytes that are compressed
   with gzip or zstd. */
int host_unpack(lua_State *L);

/* hold(path) -> a path that can be read again and again: of a pipe, which is read to its end, a copy in memory; all
   others stay as they are. nil and why not. */
int host_hold(lua_State *L);

/* is_descriptor(path) -> boolean: /dev/stdin, /dev/fd/N and their like. */
int host_is_descriptor(lua_State *L);

/* close_on_exec(file): no program that is started gets the file of io.open. */
int host_close_on_exec(lua_State *L);

/* sleep(seconds): an interrupt ends it. */
int host_sleep(lua_State *L);

/* workers(count, run, done, most?): calls run(number) -> text for each number from 1 to count, in up to `most` child
   processes, or as many as there are processors, and here done(number, succeeded, text) as each ends; the text is the
   error's if run raised one. An error of done ends the rest, and is raised. */
int host_workers(lua_State *L);

/* isolate({milliseconds, memory, file_size, read = {path ...}, write = {path ...}})
   -> in the child: "child", or "failed" and what could not be held; in the parent, when
   the child has ended: "exit", "signal" or "deadline", a number, and what was captured;
   or "unknown" and why the system does not tell how it ended.
   Whatever was not written yet is written twice: flush before. */
int host_isolate(lua_State *L);

/* conclude(): the next file that is written is the command's result. From then on signals
   are ignored, so that the exit status tells that it is there. */
int host_conclude(lua_State *L);

/* cells(code_point) -> 0, 1 or 2: the columns of a terminal that it takes. */
int host_cells(lua_State *L);

/* capture(): in the child, standard output goes to its parent from here on. */
int host_capture(lua_State *L);

/* editor(history_path | nil, complete) -> Editor: the line editor of a prompt;
   nil without a terminal or editor library. complete(text) -> what to insert, what to
   list. From then on Ctrl-C is for lines and interruptible calls only. */
int host_editor(lua_State *L);

#endif
