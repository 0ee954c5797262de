/*
** Messages from elsewhere: a document's envelope is read as a text, its messages are those of another conversation
** or texts beside it.
*/
#ifndef EBB_DOCUMENT_DOCUMENT_APART_H
#define EBB_DOCUMENT_DOCUMENT_APART_H

#include "document/document_loader.h"

/* Appends the loader's `messages` to a list that has none in the text. Status of the reader; STATUS_DUPLICATE. */
Status document_load_apart(DocumentLoader *loader);

#endif
