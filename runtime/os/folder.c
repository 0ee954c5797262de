#define _DEFAULT_SOURCE 1
#include "os/folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

Status folder_open(Folder *folder, const char *path) {
  folder->entries = opendir(path);
  return folder->entries != NULL ? STATUS_OK : STATUS_ABSENT;
}

const char *folder_next(Folder *folder) {
  assert(folder->entries != NULL);
  struct dirent *entry;
  do entry = readdir(folder->entries);
  while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
  return entry == NULL ? NULL : entry->d_name;
}

void folder_close(Folder *folder) {
  if (folder->entries != NULL) closedir(folder->entries);
  folder->entries = NULL;
}

Status folder_make(char *path) {
  for (char *at = path + 1; path[0] != '\0'; at++) {
    char end = *at;
    if (end != '/' && end != '\0') continue;
    *at = '\0';
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return STATUS_IO;
    *at = end;
    if (end == '\0') break;
  }
  return STATUS_OK;
}
