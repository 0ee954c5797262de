/*
** Locale: numbers and letters that do not depend on the program's locale.
**
** A program under LC_ALL=de_DE writes 1.5 as "1,5", and C's strtod reads "0.75" as 0.
** JSON and Lua must not. Code that formats, parses or classifies therefore switches
** its thread to the C locale (POSIX uselocale) and then back. The program's own locale
** and other threads are not affected.
**
**     Locale before = locale_plain();
**     snprintf(text, sizeof text, "%.17g", number);
**     locale_set(before);
**
** Takes no memory: the C locale is static in glibc and musl. A switch costs about 10 ns.
*/
#ifndef EBB_OS_LOCALE_H
#define EBB_OS_LOCALE_H

/* A locale_t, which plain C11 headers do not declare; may be NULL. */
typedef void *Locale;

/* Switches this thread to the C locale and returns its previous one. */
Locale locale_plain(void);
/* Switches this thread to `locale` (NULL: no change) and returns its previous one. */
Locale locale_set(Locale locale);

#endif
