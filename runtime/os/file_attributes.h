/*
** File attributes: what a new file takes over from the one that it replaces.
*/
#ifndef EBB_OS_FILE_ATTRIBUTES_H
#define EBB_OS_FILE_ATTRIBUTES_H

#include <sys/stat.h>

/* What is not kept, as bits. */
enum {
  FILE_LOST_OWNER = 1,
  FILE_LOST_GROUP = 2,      /* the group's rights are those of all others then */
  FILE_LOST_EXTENDED = 4,   /* extended attributes, lists of access rights among them */
  FILE_LOST_NAMES = 8       /* other names of the old file (hard links) keep its content */
};

/* Gives the new file owner, group, mode and extended attributes of the old one, at `path`.
   The bits of what is lost, or -1 with errno if the mode cannot be set. */
int file_attributes_copy(int new_file, const char *path, const struct stat *old);

#endif
