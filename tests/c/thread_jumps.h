/*
** For tests with the sanitizer of threads: it follows longjmp, but not __longjmp_chk, by which Debian's Lua leaves
** functions. To it these would stay on their thread's stack for ever, and it keeps each stack that it sees: a life of
** 500 calls took 20 GB.
*/
#ifndef EBB_TESTS_THREAD_JUMPS_H
#define EBB_TESTS_THREAD_JUMPS_H

#ifdef __SANITIZE_THREAD__
#include <setjmp.h>

_Noreturn void __longjmp_chk(struct __jmp_buf_tag *place, int value);
_Noreturn void __longjmp_chk(struct __jmp_buf_tag *place, int value) { longjmp(place, value); }
#endif

#endif
