/*
** The standard streams, under the names that the linker gives to Lua's uses of
** them when it makes libebb.so (--wrap).
**
** Debian's static Lua is not position-independent: it takes the addresses of
** stdin, stdout and stderr as if they stood in the program. These stand in the
** library. Lua's io library is not opened in it, so they are never read or written.
*/
#include <stdio.h>

extern FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;
FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;
