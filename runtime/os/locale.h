/*
** Locale: numbers and letters that are the same whatever locale a program has set.
**
** A program under LC_ALL=de_DE writes 1.5 as "1,5", and C's strtod reads "0.75"
** as 0. JSON and Lua must not follow it. So what formats, parses or classifies
** does that in the C locale of its thread (POSIX uselocale), and puts back what
** the thread had. The program's own locale, and other threads, see nothing of it.
**
**     Locale before = locale_plain();
**     snprintf(text, sizeof text, "%.17g", number);
**     locale_set(before);
**
** No memory is taken: the C locale is static in glibc and musl. A switch costs
** some 10 ns.
*/
#ifndef EBB_OS_LOCALE_H
#define EBB_OS_LOCALE_H

/* A locale_t, whose header C11 alone does not open. NULL: none. */
typedef void *Locale;

/* Puts the C locale in place for this thread; answers the one it had. */
Locale locale_plain(void);
/* Puts `locale` in place for this thread and answers the one it had; NULL changes
   nothing. */
Locale locale_set(Locale locale);

#endif
