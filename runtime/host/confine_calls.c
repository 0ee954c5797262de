/*
** The system calls of an isolated process: those that Lua, the C library and this program need, and no others.
**
** A call is on the list with all its arguments, or with some of them only:
**
**     kill, tkill, tgkill   itself: the process may end by a signal
**     ioctl                 questions about a terminal. Nothing that puts input into it (TIOCSTI), pastes
**                           (TIOCLINUX), or changes it for the programs that run in it afterwards
**     fcntl                 flags of a descriptor, copies, locks. No owner and no signal of one: the kernel
**                           sends that signal to any process of the user
**     prlimit64             reading its own limits
**     sched_getaffinity     its own
**
** Files are opened and changed by name as Landlock allows; calls that it does not hold (chmod, chown, utimes,
** setxattr) are absent, and so is all that starts threads, processes and programs, sends (sockets, messages, signals),
** maps memory outside of the limits (memfd, System V), or outlives the process (timers, keys, the death signal).
**
** Absent calls fail with EPERM. Those from FIRST_COMMON on are newer than 2019 and have one number on all processors:
** they fail with ENOSYS, as on an older kernel, so that the C library takes the way that it has without them.
*/
#define _GNU_SOURCE 1
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/confine.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
#define FIRST_COMMON 424
#define X32_CALLS    0x40000000u

#define LOAD(field)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_UPPER(field)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define IF_EQUAL(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), then, otherwise)
#define ANSWER(action)     BPF_STMT(BPF_RET | BPF_K, action)

#define ALLOW(call) IF_EQUAL(SYS_##call, 0, 1), ANSWER(SECCOMP_RET_ALLOW)

/* Allows the call if an argument, an int, has this value. Further rules for the call may follow. */
#define ALLOW_IF(call, argument, value) \
  IF_EQUAL(SYS_##call, 0, 4), LOAD(args[argument]), IF_EQUAL(value, 0, 1), ANSWER(SECCOMP_RET_ALLOW), LOAD(nr)

const char *confine_calls(void) {
  pid_t self = getpid();
  struct sock_filter program[] = {
    LOAD(arch), IF_EQUAL(ARCHITECTURE, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1), ANSWER(SECCOMP_RET_KILL_PROCESS),
#endif
    /* open files */
    ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64), ALLOW(lseek),
    ALLOW(close), ALLOW(fstat), ALLOW(ftruncate), ALLOW(fsync), ALLOW(fdatasync), ALLOW(fadvise64),
    ALLOW(getdents64), ALLOW(fgetxattr), ALLOW(dup), ALLOW(dup3), ALLOW(ppoll),
    ALLOW_IF(fcntl, 1, F_DUPFD), ALLOW_IF(fcntl, 1, F_DUPFD_CLOEXEC), ALLOW_IF(fcntl, 1, F_GETFD),
    ALLOW_IF(fcntl, 1, F_SETFD), ALLOW_IF(fcntl, 1, F_GETFL), ALLOW_IF(fcntl, 1, F_OFD_SETLK),
    ALLOW_IF(ioctl, 1, TCGETS), ALLOW_IF(ioctl, 1, TCGETS2), ALLOW_IF(ioctl, 1, TIOCGWINSZ),
    /* files by name */
    ALLOW(openat), ALLOW(openat2), ALLOW(newfstatat), ALLOW(statx), ALLOW(faccessat), ALLOW(faccessat2),
    ALLOW(readlinkat), ALLOW(getcwd), ALLOW(getxattr), ALLOW(listxattr), ALLOW(mkdirat), ALLOW(unlinkat),
    ALLOW(renameat2),
#ifdef __x86_64__
    ALLOW(open), ALLOW(stat), ALLOW(lstat), ALLOW(access), ALLOW(readlink), ALLOW(mkdir), ALLOW(rmdir), ALLOW(unlink),
    ALLOW(rename), ALLOW(dup2), ALLOW(poll), ALLOW(time),
#endif
    ALLOW(renameat),
    /* memory */
    ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(futex),
    /* time and chance */
    ALLOW(clock_gettime), ALLOW(clock_getres), ALLOW(gettimeofday), ALLOW(nanosleep), ALLOW(clock_nanosleep),
    ALLOW(restart_syscall), ALLOW(getrandom),
    /* itself */
    ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack), ALLOW(getpid), ALLOW(gettid),
    ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid), ALLOW(sysinfo), ALLOW(sched_yield), ALLOW(exit),
    ALLOW(exit_group),
    ALLOW_IF(sched_getaffinity, 0, 0), ALLOW_IF(kill, 0, self), ALLOW_IF(tkill, 0, self), ALLOW_IF(tgkill, 0, self),
    IF_EQUAL(SYS_prlimit64, 0, 8), LOAD(args[0]), IF_EQUAL(0, 0, 5),       /* its own, and no new one */
    LOAD(args[2]), IF_EQUAL(0, 0, 3), LOAD_UPPER(args[2]), IF_EQUAL(0, 0, 1), ANSWER(SECCOMP_RET_ALLOW), LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_COMMON, 0, 1), ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
    ANSWER(SECCOMP_RET_ERRNO | EPERM),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return "this kernel has no seccomp filters";
  return NULL;
}
#else
const char *confine_calls(void) {
  return "processes and network cannot be kept from the script on this processor";
}
#endif
