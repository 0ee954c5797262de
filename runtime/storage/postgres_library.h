/*
** The functions of libpq that Ebb calls. The library is loaded on first use, so that Ebb runs where it is not
** installed. Without its header at build time EBB_POSTGRES is not defined, and the driver says so when it is used.
*/
#ifndef EBB_STORAGE_POSTGRES_LIBRARY_H
#define EBB_STORAGE_POSTGRES_LIBRARY_H

#ifdef __has_include
#if __has_include(<libpq-fe.h>)
#define EBB_POSTGRES
#endif
#endif

#ifdef EBB_POSTGRES

#include <libpq-fe.h>

#define POSTGRES_FUNCTIONS(X)                                                                                     \
  X(connectdbParams) X(finish) X(status) X(errorMessage) X(parameterStatus) X(socket) X(sendQueryParams)          \
  X(setSingleRowMode) X(getResult) X(isBusy) X(consumeInput) X(flush) X(setnonblocking) X(resultStatus)           \
  X(resultErrorField) X(ntuples) X(getvalue) X(getlength) X(clear) X(cmdTuples) X(enterPipelineMode)              \
  X(pipelineSync) X(notifies) X(freemem) X(transactionStatus) X(setNoticeProcessor)

#define POSTGRES_FIELD(name) __typeof__(&PQ##name) name;
typedef struct PostgresLibrary {
  POSTGRES_FUNCTIONS(POSTGRES_FIELD)
} PostgresLibrary;
#undef POSTGRES_FIELD

/* The library; NULL if it is not installed or older than version 14, and then *why says what the loader said. */
const PostgresLibrary *postgres_library(const char **why);

#endif
#endif
