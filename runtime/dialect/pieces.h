/*
** Pieces: a message of any dialect, taken apart into what the dialects share.
**
** Conversion reads a message's JSON into pieces, and a dialect writes pieces in its form:
**
**     {"role":"assistant","content":"hm","tool_calls":[{"id":"c1", ..}]}        openai
**      text "hm" | call c1                                                      pieces
**     {"role":"model","parts":[{"text":"hm"},{"functionCall":{"id":"c1", ..}}]} gemini
**
** Texts point into the message's JSON, or are static; the list belongs to the Pieces and
** is valid until they read again.
*/
#ifndef EBB_DIALECT_PIECES_H
#define EBB_DIALECT_PIECES_H

#include "core/message/message.h"
#include "dialect/check/check.h"
#include "json/json.h"

typedef enum PieceKind {
  PIECE_TEXT,
  PIECE_REFUSAL,
  PIECE_REASONING,
  PIECE_MEDIA,
  PIECE_CALL,
  PIECE_RESULT,              /* nested pieces behind it are its contents */
  PIECE_OTHER                /* a part that only its own dialect knows */
} PieceKind;

typedef enum MediaKind { MEDIA_IMAGE, MEDIA_AUDIO, MEDIA_VIDEO, MEDIA_FILE } MediaKind;

const char *media_kind_name(MediaKind kind);     /* "image", "audio", "video", "file"; static */
MediaKind   media_kind_of_type(Text type);       /* by a MIME type */

/* An image, a sound, a video or a document. Absent texts have size 0. */
typedef struct Media {
  MediaKind kind;
  Text type;                 /* MIME type */
  Text data;                 /* base64 */
  Text url;
  Text file;                 /* id of a file that the provider stores */
  Text name, name_member;    /* file name, and the member that says it */
  Text detail;               /* "low", "high", ... */
} Media;

/* Members of a part that no piece holds, at most: citations, annotations, and two of its own type. */
enum { UNSAID_MOST = 4 };

/* A piece. Texts that its kind does not use, or that are absent, have size 0. */
typedef struct Piece {
  PieceKind kind;
  bool nested;               /* belongs to the result before it */
  bool is_error;             /* PIECE_RESULT: the call failed */
  bool is_custom;            /* PIECE_CALL, PIECE_RESULT: of a tool that takes free text */
  bool is_object;            /* PIECE_CALL: the arguments are JSON; else a string with JSON inside.
                                PIECE_RESULT: the text is a JSON value, not a string's inside */
  Text json;                 /* the whole part; size 0: it was a member of the message */
  Text type;                 /* its type as written, for reports */
  Text text;                 /* of PIECE_TEXT, REFUSAL, REASONING; a result's string */
  Text id;                   /* PIECE_CALL, PIECE_RESULT */
  Text name;                 /* PIECE_CALL: the tool's; PIECE_RESULT: the same where the form says it */
  Text arguments;            /* PIECE_CALL */
  Text signature;            /* the provider's proof of a reasoning, or on another part */
  bool stands_in;            /* PIECE_TEXT: the first of what tells a part of another type */
  bool signs_thought;        /* the signature is one that Gemini wants back (thought_signature.h) */
  Text cache;                /* a cache mark of Anthropic's form, as JSON */
  Text unsaid[UNSAID_MOST];  /* names of members of the part that no other dialect can say: where its text is from */
  Media media;
  uint32_t index;            /* of its message in the list, for pieces that are held (convert.h) */
} Piece;

typedef struct Pieces {
  Memory memory;
  Piece *list;
  uint32_t count, room;
  Role role;                 /* ROLE_NONE: the message names none and its type implies none */
  Text role_text;            /* size 0: implied */
  Text name;                 /* of the participant */
  uint32_t dialects;         /* in whose form the message is, as bits 1 << Dialect */
  bool fits_inside;          /* a system message in the form that Anthropic takes among the others */
  unsigned signature_places; /* where openai's form has thought signatures: bits of SignaturePlace */
} Pieces;

void pieces_init(Pieces *pieces, Memory memory);
void pieces_free(Pieces *pieces);

/* Takes a message apart, which was read before: valid JSON in a known form. STATUS_MEMORY. */
Status pieces_read(Pieces *pieces, Text raw);

/* ---- for the dialects' files ---- */

/* The members of an object that some dialect's form uses; bytes NULL: absent or null. */
typedef enum PieceField {
  KEY_TYPE, KEY_ROLE, KEY_CONTENT, KEY_PARTS, KEY_TEXT, KEY_THINKING, KEY_REASONING, KEY_REFUSAL,
  KEY_SIGNATURE, KEY_DATA, KEY_ID, KEY_CALL_ID, KEY_TOOL_USE_ID, KEY_TOOL_CALL_ID, KEY_NAME, KEY_INPUT,
  KEY_ARGUMENTS, KEY_IMAGE_URL, KEY_SOURCE, KEY_IMAGE, KEY_FILE, KEY_FILE_ID, KEY_FILE_DATA, KEY_FILE_URL,
  KEY_FILENAME, KEY_INPUT_AUDIO, KEY_DETAIL, KEY_TITLE, KEY_IS_ERROR, KEY_CACHE_CONTROL, KEY_BREAKPOINT,
  KEY_VIDEO_URL, KEY_TOOL_CALLS, KEY_FUNCTION_CALL, KEY_FUNCTION, KEY_CUSTOM, KEY_REASONING_CONTENT, KEY_OUTPUT,
  KEY_SUMMARY,
  KEY_ENCRYPTED_CONTENT, KEY_THOUGHT, KEY_THOUGHT_SIGNATURE, KEY_GEMINI_CALL, KEY_GEMINI_RESPONSE,
  KEY_INLINE_DATA, KEY_FILE_DATA_CAMEL, KEY_ARGS, KEY_RESPONSE, KEY_MIME_TYPE, KEY_FILE_URI, KEY_DISPLAY_NAME,
  KEY_MEDIA_TYPE, KEY_URL, KEY_FORMAT, KEY_AUDIO, KEY_EXTRA_CONTENT, KEY_GOOGLE, KEY_PROVIDER_FIELDS,
  KEY_REASONING_DETAILS, KEY_TOOL_NAME, KEY_URI, KEY_DESCRIPTION, KEY_RESOURCE, KEY_BLOB,
  KEY_CITATIONS, KEY_ANNOTATIONS, KEY_CONTEXT, KEY_ENABLED, KEY_RESOLUTION, KEY_TOOL_USE, KEY_TOOL_RESULT,
  KEY_COUNT
} PieceField;

typedef struct PieceFields {
  JsonValue of[KEY_COUNT];
} PieceFields;

/* Reads the members of an object. */
void   piece_fields(Text object, PieceFields *fields);
/* The contents of a member; size 0 and no bytes if it is absent or not a string. */
Text   piece_string(const PieceFields *fields, PieceField field);
/* The JSON of a member; size 0 if it is absent. */
Text   piece_json(const PieceFields *fields, PieceField field);
bool   piece_is(const PieceFields *fields, PieceField field, JsonKind kind);

/* True for a part that refers to a file, which only a pipeline resolves. */
bool   piece_refers(const Piece *piece);
/* The same by its type: "asset" or "asset_reference". */
bool   piece_type_refers(Text type);

/* Notes that a member of the part is said nowhere else, which conversions report. */
void   piece_leave(Piece *piece, PieceField field);

/* Adds a piece. STATUS_MEMORY. */
Status pieces_add(Pieces *pieces, const Piece *piece);
/* Adds the parts of a JSON list as pieces. STATUS_MEMORY. */
Status pieces_add_parts(Pieces *pieces, const JsonValue *list, bool nested);
/* Adds a result with its contents: a string, a list of parts, or another JSON value. STATUS_MEMORY. */
Status pieces_add_result(Pieces *pieces, Piece result, const JsonValue *content);
/* Fills the name of a file from a member. */
void   media_name(Media *media, const PieceFields *fields, PieceField field);
/* Fills the source of a media piece from a URL, which may be a data URI. */
void   media_from_url(Media *media, Text url);

/* How a dialect's parts are read. */
typedef struct PartForm {
  const char *type;          /* NULL ends a list */
  /* Adds the pieces of a part. `piece` has json, type, nested and cache already. STATUS_MEMORY. */
  Status (*read)(Pieces *pieces, Piece *piece, const PieceFields *fields);
} PartForm;

/* How parts are read that no dialect reads; the last one is for all others, and has no type. */
extern const PartForm other_parts[];

/* How a dialect's messages are read. */
typedef struct PieceReader {
  const PartForm *parts;
  /* For dialects whose messages are no {role, content}: true if the members are of such a message, and what adds its
     pieces; `pieces` has the role as written. STATUS_MEMORY. NULL: its messages are. */
  bool (*owns)(const PieceFields *fields);
  Status (*read)(Pieces *pieces, const PieceFields *fields, Text raw);
  /* For dialects whose servers have thought signatures in members of their own, of a call in tool_calls and of a
     message with content: gives them to the call, which has its other members, and to the pieces. STATUS_MEMORY.
     NULL: none. */
  void (*sign_call)(Pieces *pieces, const PieceFields *fields, Piece *call);
  Status (*sign_message)(Pieces *pieces, const PieceFields *fields);
} PieceReader;

/* Adds texts as a part, those that are not empty; a part without any stays what only its dialect knows. The first
   one is reported by the part's type. STATUS_MEMORY, as all below. */
Status part_add_texts(Pieces *pieces, Piece *piece, const Text texts[], size_t count);
/* The same, and the parts of a JSON list behind the texts. `content` may be absent. */
Status part_add_list(Pieces *pieces, Piece *piece, const Text texts[], size_t count, const JsonValue *content);
Status part_read_text(Pieces *pieces, Piece *piece, const PieceFields *fields);
Status part_read_refusal(Pieces *pieces, Piece *piece, const PieceFields *fields);
Status part_read_audio(Pieces *pieces, Piece *piece, const PieceFields *fields);
/* An image whose member image_url is a URL, or an object with one. */
Status part_read_image_url(Pieces *pieces, Piece *piece, const PieceFields *fields);

#endif
