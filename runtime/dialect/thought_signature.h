/*
** Thought signatures: proofs of thoughts that Gemini's models want back with the call or text that they came with.
** Chat Completions have no member for them, so servers of that form have their own:
**
**     {"functionCall":{..},"thoughtSignature":"S"}                              gemini
**     {"id":"c1", .., "extra_content":{"google":{"thought_signature":"S"}}}     Gemini's OpenAI-compatible endpoint, of
**                                                                               a call or, for its text, the message
**     {"id":"c1", .., "provider_specific_fields":{"thought_signature":"S"}}     LiteLLM, of a call
**     "reasoning_details":[{"type":"reasoning.encrypted","format":"google-gemini-v1","id":"c1","data":"S"}]
**                                                                               OpenRouter, of the message: `id` names
**                                                                               the call
**
** A signature belongs to the piece that it came with: Piece.signature, with signs_thought.
*/
#ifndef EBB_DIALECT_THOUGHT_SIGNATURE_H
#define EBB_DIALECT_THOUGHT_SIGNATURE_H

#include "dialect/pieces.h"
#include "json/json_out.h"

/* What the newest models of Gemini take in place of a signature that is lost, on the first call of a step. */
#define NO_THOUGHT_SIGNATURE "skip_thought_signature_validator"

/* The places of signatures in messages of openai's form; sets are bits. */
typedef enum SignaturePlace {
  SIGNATURE_NOWHERE = 0,
  SIGNATURE_IN_EXTRA_CONTENT = 1,
  SIGNATURE_IN_DETAILS = 2
} SignaturePlace;

/* Gives a call of openai's form the signature that its `fields` have, if they have one. */
void   thought_signature_of_call(Pieces *pieces, const PieceFields *fields, Piece *call);
/* Gives the last text of a message the signature of the message, if it has one; where there is no text, it is an empty
   one. Those among its reasoning_details go to the calls that they name; others to the first call without one, or else
   to a text. STATUS_MEMORY. */
Status thought_signatures_of_message(Pieces *pieces, const PieceFields *fields);
/* True for a member of a message that says signatures and nothing else. */
bool   thought_signature_is_all(Text key, const JsonValue *value);

/* Writes the member of a call, or of a message, that has the piece's signature. */
void   thought_signature_write(JsonOut *out, Text signature);
/* Writes one of a message's reasoning_details; the first, index 0, opens the list. `id`: of the call as it is written;
   size 0: none. */
void   thought_signature_write_detail(JsonOut *out, Text signature, Text id, uint32_t index);

#endif
