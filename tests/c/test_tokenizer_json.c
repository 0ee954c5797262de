/*
** tokenizer.json: files with what is read from them, and files that are refused,
** with the byte, what is said and what is named. Tables write ' for ".
*/
#include "documents.h"

#include "base/utf8.h"
#include "tokens/vocab/tokenizer_json_parts.h"

/* ---- files ---- */

#define FILE_OF(cuts, model) "{'pre_tokenizer':" cuts ",'model':" model "}"
#define MODEL(vocab, merges) "{'type':'BPE','vocab':{" vocab "},'merges':[" merges "]}"
#define LIST(cuts) "{'type':'Sequence','pretokenizers':[" cuts "]}"
#define BYTES "{'type':'ByteLevel','add_prefix_space':false,'use_regex':false}"
#define CUTTING "{'type':'ByteLevel','trim_offsets':true}"
#define SPLIT(regex, more) "{'type':'Split','pattern':{'Regex':'" regex "'}," more "}"
#define ISOLATED "'behavior':'Isolated','invert':false"
#define SMALL MODEL("'a':0", "")

#define WITH_MODEL(model) FILE_OF(CUTTING, model)
#define WITH_CUTS(cuts) FILE_OF(cuts, SMALL)
#define WITH_ADDED(added) "{'added_tokens':" added ",'pre_tokenizer':" CUTTING ",'model':" SMALL "}"
#define WITH_NORMALIZER(normalizer) "{'normalizer':" normalizer ",'pre_tokenizer':" CUTTING ",'model':" SMALL "}"

/* The expressions that are known, as files write them; u0027 is the apostrophe. */
#define Q "\\u0027"
#define OLD_CL100K                                                                                                   \
  "(?i:" Q "s|" Q "t|" Q "re|" Q "ve|" Q "m|" Q "ll|" Q "d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}|"   \
  " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define NEW_CL100K                                                                                                   \
  Q "(?i:[sdmt]|ll|ve|re)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?+\\\\p{L}++|\\\\p{N}{1,3}+|"                                 \
  " ?[^\\\\s\\\\p{L}\\\\p{N}]++[\\\\r\\\\n]*+|\\\\s++$|\\\\s*[\\\\r\\\\n]|\\\\s+(?!\\\\S)|\\\\s"
#define UPPERS "[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define LOWERS "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]"
#define SHORT "(?i:" Q "s|" Q "t|" Q "re|" Q "ve|" Q "m|" Q "ll|" Q "d)?|"
#define NO_WORD "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
#define KNOWN_O200K                                                                                                  \
  NO_WORD UPPERS "*" LOWERS "+" SHORT NO_WORD UPPERS "+" LOWERS "*" SHORT "\\\\p{N}{1,3}|"                           \
  " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define KNOWN_GPT2                                                                                                   \
  Q "s|" Q "t|" Q "re|" Q "ve|" Q "m|" Q "ll|" Q "d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|"            \
  "\\\\s+(?!\\\\S)|\\\\s+"

/* ---- what was read, as text ---- */

typedef struct Seen {
  Fail fail;
  TokenizerJson read;
  TokenizerJsonError error;
  char *block;
  size_t size;
} Seen;

/* From a block of the file's very size, for the sanitizer. */
static Status open_file(Seen *seen, const char *bytes, size_t size, bool composed, size_t fail_at, bool once) {
  *seen = (Seen){.fail = {.fail_at = fail_at, .once = once}, .block = malloc(size + 1), .size = size};
  Memory memory = fail_memory(&seen->fail);
  seen->block = realloc(seen->block, size > 0 ? size : 1);
  memcpy(seen->block, bytes, size);
  Status status = tokenizer_json_read(&memory, seen->block, size, composed, &seen->read, &seen->error);
  assert_int_equal(status, seen->error.status);
  return status;
}

static void close_file(Seen *seen) {
  tokenizer_json_free(&seen->read);
  assert_int_equal(seen->fail.in_use, 0);
  free(seen->block);
}

static size_t print_bytes(char *out, const char *bytes, size_t size) {
  size_t at = 0;
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)bytes[i];
    if (byte > ' ' && byte < 0x7F) out[at++] = (char)byte;
    else at += (size_t)sprintf(out + at, "\\%02x", byte);
  }
  out[at] = '\0';
  return at;
}

/* "0=a 400=<end>* \e2- [x]=1 a+b | gpt2": tokens (*: special, -: hollow), atoms, merges, the
   pattern; "wholes" if pretokens may be tokens as a whole; the forms of texts. For another
   pattern its stages. */
static void describe(const TokenizerJson *read, char out[4000]) {
  static const char *const patterns[] = {"cl100k", "o200k", "gpt2", "", "borders"};
  size_t at = 0;
  for (uint32_t i = 0; i < read->count; i++) {
    if (!read->tokens[i].hollow) at += (size_t)sprintf(out + at, "%u=", (unsigned)read->tokens[i].id);
    at += print_bytes(out + at, read->tokens[i].bytes, read->tokens[i].size);
    at += (size_t)sprintf(out + at, "%s ", read->tokens[i].special ? "*" : read->tokens[i].hollow ? "-" : "");
  }
  for (uint32_t i = 0; i < read->atom_count; i++) {
    at += (size_t)sprintf(out + at, "[");
    at += print_bytes(out + at, read->atoms[i].bytes, read->atoms[i].size);
    at += (size_t)sprintf(out + at, "]=%u ", (unsigned)read->atoms[i].id);
  }
  for (uint32_t i = 0; i < read->merge_count; i++) {
    VocabMerge merge = read->merges[i];
    at += print_bytes(out + at, merge.bytes, merge.left_size);
    at += (size_t)sprintf(out + at, "+");
    at += print_bytes(out + at, merge.bytes + merge.left_size, merge.right_size);
    at += (size_t)sprintf(out + at, " ");
  }
  at += (size_t)sprintf(out + at, "|%s%s%s%s", read->wholes ? " wholes" : "", read->forms & TEXT_NFC ? " nfc" : "",
                        read->forms & TEXT_SPACES ? " spaces" : "", read->forms & TEXT_PREFIX ? " prefix" : "");
  if (read->pattern != PRETOKEN_REGEX) {
    sprintf(out + at, " %s", patterns[read->pattern]);
    return;
  }
  for (const char *stage = read->regex.bytes; *stage != '\0'; stage += strlen(stage) + 1) {
    at += (size_t)sprintf(out + at, " /%s/", stage);
  }
}

#define FIFTY "1234567890" "1234567890" "1234567890" "1234567890" "1234567890"

/* ---- files that are read, their texts being in NFC ---- */

static const struct Good {
  const char *shows, *file, *expected;
} good[] = {
  {"tokens in the order of the file", WITH_MODEL(MODEL("'b':7,'a':3999999", "")), "7=b 3999999=a | gpt2"},
  {"the alphabet of bytes", WITH_MODEL(MODEL("'Ġ':1,'Ċ':2,'č':3,'ÿ':4,'Ń':5,'Āa':6", "")),
   "1=\\20 2=\\0a 3=\\0d 4=\\ff 5=\\ad 6=\\00a | gpt2"},
  {"escapes in tokens and merges", WITH_MODEL(MODEL("'\\u0120b':1,'\\'':2", "'\\u0120 b',['\\'','\\u0120']")),
   "1=\\20b 2=\" \\20+b \"+\\20 | gpt2"},
  {"merges as texts and as pairs", WITH_MODEL(MODEL("'a':0", "'a b',['a','bc'],'ab Ġ'")),
   "0=a a+b a+bc ab+\\20 | gpt2"},
  {"empty halves, for the builder to judge", WITH_MODEL(MODEL("'a':0", "'a ',' a',['','a']")), "0=a a+ +a +a | gpt2"},
  {"whole pieces", WITH_MODEL("{'ignore_merges':true,'vocab':{},'merges':[]}"), "| wholes gpt2"},
  {"no whole pieces", WITH_MODEL("{'ignore_merges':false,'vocab':{},'merges':[]}"), "| gpt2"},
  {"options that change nothing",
   WITH_MODEL("{'dropout':null,'byte_fallback':false,'continuing_subword_prefix':'','end_of_word_suffix':'',"
              "'unk_token':null,'fuse_unk':true,'vocab':{'a':0},'merges':[]}"), "0=a | gpt2"},
  {"a dropout of nothing", WITH_MODEL("{'dropout':0.0,'vocab':{'a':0},'merges':[]}"), "0=a | gpt2"},
  {"special added tokens come first",
   WITH_ADDED("[{'id':5,'content':'<\\u007cé>','special':true},{'id':6,'content':'x y'}]"),
   "5=<|\\c3\\a9>* 0=a 6=x\\20y* [x\\20y]=6 | gpt2"},
  {"an added token in place of one of the model", WITH_ADDED("[{'id':0,'content':'A','special':false}]"),
   "0=A* [A]=0 | gpt2"},
  {"an added token that is one of the model", WITH_ADDED("[{'id':0,'content':'a','special':false}]"),
   "0=a [a]=0 | gpt2"},
  {"added white space", WITH_ADDED("[{'id':5,'content':' \\t\\r\\n','special':false,'lstrip':false,'rstrip':null}]"),
   "0=a 5=\\20\\09\\0d\\0a* [\\20\\09\\0d\\0a]=5 | gpt2"},
  {"added white space that is special", WITH_ADDED("[{'id':5,'content':' ','special':true}]"), "5=\\20* 0=a | gpt2"},
  {"an added NUL", WITH_ADDED("[{'id':5,'content':'\\u0000'}]"), "0=a 5=\\00* [\\00]=5 | gpt2"},
  {"added null", WITH_ADDED("null"), "0=a | gpt2"},
  {"ByteLevel cuts as GPT-2 does", WITH_CUTS("{'type':'ByteLevel','use_regex':true,'add_prefix_space':null}"),
   "0=a | gpt2"},
  {"the old expression of cl100k", WITH_CUTS(LIST(SPLIT(OLD_CL100K, ISOLATED) "," BYTES)), "0=a | cl100k"},
  {"the new expression of cl100k", WITH_CUTS(LIST(SPLIT(NEW_CL100K, ISOLATED) "," BYTES)), "0=a | cl100k"},
  {"the expression of o200k", WITH_CUTS(LIST(SPLIT(KNOWN_O200K, ISOLATED) "," BYTES)), "0=a | o200k"},
  {"the expression of GPT-2", WITH_CUTS(LIST(SPLIT(KNOWN_GPT2, "'behavior':'Isolated'") "," BYTES)), "0=a | gpt2"},
  {"what lies between matches of all is nothing",
   WITH_CUTS(LIST(SPLIT(OLD_CL100K, "'behavior':'Removed','invert':true") "," BYTES)), "0=a | cl100k"},
  {"isolating that too", WITH_CUTS(LIST(SPLIT(KNOWN_GPT2, "'behavior':'Isolated','invert':true") "," BYTES)),
   "0=a | gpt2"},
  {"another expression", WITH_CUTS(LIST(SPLIT("[a-z]+", ISOLATED) "," BYTES)), "0=a | /[a-z]+/"},
  {"an expression that fills a block", WITH_CUTS(LIST(SPLIT("[a-z]+|" FIFTY "123456", ISOLATED) "," BYTES)),
   "0=a | /[a-z]+|" FIFTY "123456/"},
  {"stages, one after the other", WITH_CUTS(LIST(SPLIT("x", ISOLATED) "," SPLIT("\\\\d", ISOLATED) "," BYTES)),
   "0=a | /x/ /\\d/"},
  {"digits together", WITH_CUTS(LIST("{'type':'Digits'}," BYTES)), "0=a | /\\p{N}+/"},
  {"digits one by one", WITH_CUTS(LIST("{'type':'Digits','individual_digits':true}," BYTES)), "0=a | /\\p{N}/"},
  {"digits that are not one by one", WITH_CUTS(LIST("{'type':'Digits','individual_digits':false}," BYTES)),
   "0=a | /\\p{N}+/"},
  {"a known expression after another stage", WITH_CUTS(LIST(SPLIT("y", ISOLATED) "," CUTTING)),
   "0=a | /y/ /'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+/"},
  {"no normalizer", WITH_NORMALIZER("null"), "0=a | gpt2"},
  {"NFC of what is in it", WITH_NORMALIZER("{'type':'NFC'}"), "0=a | gpt2"},
  {"NFC in a list", WITH_NORMALIZER("{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'NFC'}]}"), "0=a | gpt2"},
  {"a list of no normalizers", WITH_NORMALIZER("{'type':'Sequence','normalizers':[]}"), "0=a | gpt2"},
};

static void good_files_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    Seen seen;
    char out[4000];
    const char *text = quoted(good[i].file);
    if (open_file(&seen, text, strlen(text), true, 0, false) != STATUS_OK) {
      fail_msg("%s: refused at byte %zu: expected %s", good[i].shows, seen.error.offset, seen.error.expected);
    }
    describe(&seen.read, out);
    const char *expected = good[i].expected;
    if (strcmp(out, expected) != 0) fail_msg("%s: %s", good[i].shows, out);
    close_file(&seen);
  }
}

/* Every byte has one letter, those that print in Latin-1 themselves; no other letter is one. */
static void every_byte_has_a_letter(void **state) {
  (void)state;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; byte++) {
    bool prints = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    char letter[8], text[200];
    Seen seen;
    letter[utf8_encode(prints ? byte : next++, letter)] = '\0';
    if (byte == '"' || byte == '\\') sprintf(letter, "\\%c", (char)byte);
    sprintf(text, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{\"%s\":1},\"merges\":[]}}",
            letter);
    assert_int_equal(open_file(&seen, text, strlen(text), false, 0, false), STATUS_OK);
    assert_int_equal(seen.read.tokens[0].size, 1);
    assert_int_equal((unsigned char)seen.read.tokens[0].bytes[0], byte);
    close_file(&seen);
  }
  assert_int_equal(next, 256 + 68);
}

/* ---- files that are refused ---- */

#define FOUR(n) "'" n "a':0,'" n "b':0,'" n "c':0,'" n "d':0"
#define TWELVE(n) FOUR(n "x") "," FOUR(n "y") "," FOUR(n "z")
#define KINDS "a pre-tokenizer of the type Split, Digits, ByteLevel or Sequence"
#define LONG "ééééééééééééééééééééééééééééééé"     /* 62 bytes */

static const struct Bad {
  const char *file;          /* @ stands before the byte that is named */
  const char *expected, *name;
  Status status;             /* 0: STATUS_SHAPE */
} bad[] = {
  {"@", "a value", "", STATUS_SYNTAX},
  {"{'model':@x}", "a value", "", STATUS_SYNTAX},
  {"{} @,", "end of input", "", STATUS_SYNTAX},
  {"{'model':'@\xff'}", "valid UTF-8", "", STATUS_ENCODING},
  {"@[]", "an object", "", 0},
  {"@{}", "a model", "", 0},
  {"@{'model':{}}", "a pre_tokenizer", "", 0},
  {"{" TWELVE("a") "," TWELVE("b") ",@'c':0}", "no more than 24 members here", "", 0},
  {"{'model':{},@'mod\\u0065l':{}}", "each member once", "", 0},

  {WITH_ADDED("@5"), "a list of added tokens", "", 0},
  {WITH_ADDED("[@'x']"), "an added token", "", 0},
  {WITH_ADDED("[@{'content':'x'}]"), "an added token with id and content", "", 0},
  {WITH_ADDED("[@{'id':5}]"), "an added token with id and content", "", 0},
  {WITH_ADDED("[@{'id':5,'content':5}]"), "an added token with id and content", "", 0},
  {WITH_ADDED("[{'id':5,'content':'x',@'id':6}]"), "each member once", "", 0},
  {WITH_ADDED("[{'id':@'5','content':'x'}]"), "an id from 0 to 3999999", "", 0},
  {WITH_ADDED("[@{'id':5,'content':''}]"), "an added token of 1 to 2047 bytes", "", 0},
  {WITH_ADDED("[{'id':5,'content':'x','lstrip':@true}]"), "an added token without it", "lstrip", 0},
  {WITH_ADDED("[{'id':5,'content':'x','rstrip':@true}]"), "an added token without it", "rstrip", 0},
  {WITH_ADDED("[{'id':5,'content':'x','single_word':@true}]"), "an added token without it", "single_word", 0},

  {WITH_MODEL("@null"), "a model", "", 0},
  {WITH_MODEL("@{'type':'WordPiece','vocab':{},'merges':[]}"), "a model of the type BPE", "WordPiece", 0},
  {WITH_MODEL("@{'type':5,'vocab':{},'merges':[]}"), "a model of the type BPE", "", 0},
  {WITH_MODEL("@{'type':'" LONG "xyz'}"), "a model of the type BPE", LONG "x", 0},
  {WITH_MODEL("@{'type':'" LONG "é'}"), "a model of the type BPE", LONG, 0},
  {WITH_MODEL("@{'merges':[]}"), "a model with vocab and merges", "", 0},
  {WITH_MODEL("@{'vocab':[],'merges':[]}"), "a model with vocab and merges", "", 0},
  {WITH_MODEL("@{'vocab':{}}"), "a model with vocab and merges", "", 0},
  {WITH_MODEL("@{'vocab':{},'merges':{}}"), "a model with vocab and merges", "", 0},
  {WITH_MODEL("{'vocab':{},'merges':[],@'vocab':{}}"), "each member once", "", 0},
  {WITH_MODEL("{'vocab':{},'merges':[],'dropout':@0.1}"), "a model without it", "dropout", 0},
  {WITH_MODEL("{'vocab':{},'merges':[],'continuing_subword_prefix':@'##'}"), "a model without it",
   "continuing_subword_prefix", 0},
  {WITH_MODEL("{'vocab':{},'merges':[],'end_of_word_suffix':@'</w>'}"), "a model without it", "end_of_word_suffix", 0},
  {WITH_MODEL(MODEL("'a':@-1", "")), "an id from 0 to 3999999", "", 0},
  {WITH_MODEL(MODEL("'a':@1.5", "")), "an id from 0 to 3999999", "", 0},
  {WITH_MODEL(MODEL("'a':@4000000", "")), "an id from 0 to 3999999", "", 0},
  {WITH_MODEL(MODEL("'a':@null", "")), "an id from 0 to 3999999", "", 0},
  {WITH_MODEL(MODEL("'@a b':1", "")), "a token in the byte-level alphabet", "", 0},
  {WITH_MODEL(MODEL("'@\\u007f':1", "")), "a token in the byte-level alphabet", "", 0},
  {WITH_MODEL(MODEL("'@\\u00ad':1", "")), "a token in the byte-level alphabet", "", 0},
  {WITH_MODEL(MODEL("'a':0,'@ń':1", "")), "a token in the byte-level alphabet", "", 0},
  {WITH_MODEL(MODEL("'@▁the':1", "")), "a token in the byte-level alphabet", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@7")), "a merge", "", 0},
  {WITH_MODEL(MODEL("'a':0", "'a b',@'ab'")), "two tokens with a space between", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@['a']")), "a merge of two tokens", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@['a','b','c']")), "a merge of two tokens", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@['a',5]")), "a merge of two tokens", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@[null,'a']")), "a merge of two tokens", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@'▁ a'")), "a merge in the byte-level alphabet", "", 0},
  {WITH_MODEL(MODEL("'a':0", "@'a b c'")), "a merge in the byte-level alphabet", "", 0},

  {WITH_CUTS("@null"), "a pre-tokenizer", "", 0},
  {WITH_CUTS("{'type':'ByteLevel',@'type':'Split'}"), "each member once", "", 0},
  {WITH_CUTS("@{'type':'Metaspace'}"), KINDS, "Metaspace", 0},
  {WITH_CUTS("@{}"), KINDS, "", 0},
  {WITH_CUTS("@{'type':'Sequence'}"), KINDS, "Sequence", 0},
  {WITH_CUTS("@{'type':'Sequence','pretokenizers':{}}"), KINDS, "Sequence", 0},
  {WITH_CUTS(LIST(BYTES ",@" LIST(CUTTING))), KINDS, "Sequence", 0},
  {WITH_CUTS(LIST("@5")), "a pre-tokenizer", "", 0},
  {WITH_CUTS("@" LIST("{'type':'Digits'}")), "a pre-tokenizer of the type ByteLevel", "", 0},
  {WITH_CUTS("@" BYTES), "a pre-tokenizer that cuts", "", 0},
  {WITH_CUTS("@{'type':'ByteLevel','add_prefix_space':true}"), "no add_prefix_space", "", 0},
  {WITH_CUTS(LIST("@{'type':'Split'}")), "a pattern", "", 0},
  {WITH_CUTS(LIST("@{'type':'Split','pattern':'x'}")), "a pattern", "", 0},
  {WITH_CUTS(LIST("{'type':'Split','pattern':{'Regex':'x',@'Regex':'y'}}")), "each member once", "", 0},
  {WITH_CUTS(LIST("{'type':'Split','pattern':@{'String':'x'}}")), "a pattern that is a Regex", "String", 0},
  {WITH_CUTS(LIST("{'type':'Split','pattern':@{'Regex':5}}")), "a pattern that is a Regex", "String", 0},
  {WITH_CUTS(LIST("@" SPLIT("x", "'behavior':'Contiguous'"))), "the behavior Isolated", "Contiguous", 0},
  {WITH_CUTS(LIST("@" SPLIT("x", "'invert':false"))), "the behavior Isolated", "", 0},
  {WITH_CUTS(LIST("@" SPLIT("x", "'behavior':'Isolated','invert':true"))), "no invert", "Split", 0},
  {WITH_CUTS(LIST("@" SPLIT("x", "'behavior':'Removed','invert':true"))), "the behavior Isolated", "Removed", 0},
  {WITH_CUTS(LIST("@" SPLIT(KNOWN_GPT2, "'behavior':'Removed','invert':false"))), "the behavior Isolated", "Removed",
   0},
  {WITH_CUTS(LIST("{'type':'Split','pattern':@{'Regex':''}," ISOLATED "}")), "an expression", "", 0},
  {WITH_CUTS(LIST("{'type':'Split','pattern':@{'Regex':'a\\u0000b'}," ISOLATED "}")), "an expression", "", 0},

  {WITH_NORMALIZER("@5"), "null or a normalizer", "", 0},
  {WITH_NORMALIZER("{'type':'NFC',@'type':'NFD'}"), "each member once", "", 0},
  {WITH_NORMALIZER("@{'type':'Lowercase'}"), "no normalizer", "Lowercase", 0},
  {WITH_NORMALIZER("@{'type':'Replace','pattern':{'String':' '},'content':'▁'}"), "no normalizer", "Replace", 0},
  {WITH_NORMALIZER("@{'type':'Prepend','prepend':'▁'}"), "no normalizer", "Prepend", 0},
  {WITH_NORMALIZER("@{'type':'Sequence'}"), "no normalizer", "Sequence", 0},
  {WITH_NORMALIZER("@{'type':'Sequence','normalizers':5}"), "no normalizer", "Sequence", 0},
  {WITH_NORMALIZER("{'type':'Sequence','normalizers':[@'NFC']}"), "a normalizer", "", 0},
  {WITH_NORMALIZER("{'type':'Sequence','normalizers':[{'type':'NFC'},@{'type':'NFKC'}]}"), "no normalizer", "NFKC", 0},
  {WITH_NORMALIZER("{'type':'Sequence','normalizers':[{'type':'NFC',@'type':'NFC'}]}"), "each member once", "", 0},
};

static void assert_refused(const struct Bad *test, const char *text, bool composed, const char *name) {
  Seen seen;
  char file[2000];
  const char *mark = strchr(text, '@');
  size_t at = (size_t)(mark - text), size = strlen(text) - 1;
  assert_non_null(mark);
  memcpy(file, text, at);
  memcpy(file + at, mark + 1, size - at);
  Status status = open_file(&seen, file, size, composed, 0, false);
  if (status != (test->status != 0 ? test->status : STATUS_SHAPE) || seen.error.offset != at ||
      strcmp(seen.error.expected, test->expected) != 0 || strcmp(seen.error.name, name) != 0) {
    fail_msg("%s: %s, byte %zu: expected %s, not [%s]", text, status_code(status), seen.error.offset,
             seen.error.expected, seen.error.name);
  }
  close_file(&seen);
}

static void bad_files_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_refused(&bad[i], quoted(bad[i].file), false, bad[i].name);
  }
}

static void added_tokens_are_a_million_at_most(void **state) {
  static const char begin[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]},\"pre_tokenizer\":"
                              "{\"type\":\"ByteLevel\"},\"added_tokens\":[";
  static const char token[] = "{\"id\":5,\"content\":\"x\"},";
  enum { ROOM = VOCAB_TOKENS_MAX + 1 };
  (void)state;
  size_t size = sizeof begin - 1, step = sizeof token - 1;
  char *file = malloc(size + ROOM * step + 3);
  memcpy(file, begin, size);
  for (size_t i = 0; i < ROOM; i++, size += step) memcpy(file + size, token, step);
  memcpy(file + size - 1, "]}", 2);
  Seen seen;
  assert_int_equal(open_file(&seen, file, size + 1, false, 0, false), STATUS_SHAPE);
  assert_string_equal(seen.error.expected, "no more than 1000000 tokens");
  assert_int_equal(seen.error.offset, size - step);
  close_file(&seen);
  free(file);
}

/* ---- models of characters ---- */

/* The tokens of all bytes, <0x00> first, with ids from 1000 on. */
static const char *byte_tokens(void) {
  static char out[256 * 24];
  size_t at = 0;
  for (unsigned byte = 0; byte < 256; byte++) at += (size_t)sprintf(out + at, ",\"<0x%02X>\":%u", byte, 1000 + byte);
  return out;
}

/* A file of a model with byte_fallback; `more` precedes the model, `vocab` its tokens of bytes. */
static const char *file_of_characters(const char *more, const char *vocab, const char *merges) {
  static char out[6200 + 256 * 24];
  char members[2000], tokens[2000], list[2000];
  snprintf(members, sizeof members, "%s", quoted(more));
  snprintf(tokens, sizeof tokens, "%s", quoted(vocab));
  snprintf(list, sizeof list, "%s", quoted(merges));
  snprintf(out, sizeof out, "{%s\"model\":{\"byte_fallback\":true,\"vocab\":{%s%s},\"merges\":[%s]}}", members, tokens,
           byte_tokens(), list);
  return out;
}

#define REPLACE "{'type':'Replace','pattern':{'String':' '},'content':'▁'}"
#define PREPEND "{'type':'Prepend','prepend':'▁'}"
#define SPLIT_SPACES "{'type':'Split','pattern':{'String':' '},'behavior':'MergedWithPrevious','invert':false}"

static const struct {
  const char *shows, *more, *vocab, *merges;
  const char *first, *last;  /* of what describe prints, without the tokens of bytes between */
} of_characters[] = {
  {"one byte, one token", "", "'a':0,'b':1,'ab':2", "'a b'", "0=a 1=b 2=ab 1000=\\00 ", "1255=\\ff a+b | borders"},
  {"tokens of bytes are matched where no character is", "", "'a':0", "", "0=a 1000=\\00 ", "1255=\\ff | borders"},
  {"characters are made of bytes, the first byte first", "", "'é':0,'▲':1,'😀':2,'▼':3", "",
   "0=\\c3\\a9 1=\\e2\\96\\b2 2=\\f0\\9f\\98\\80 3=\\e2\\96\\bc 1000=\\00 ",
   "1255=\\ff \\e2\\96- \\f0\\9f- \\f0\\9f\\98- \\e2+\\96 \\f0+\\9f \\f0\\9f+\\98 \\c3+\\a9 "
   "\\e2\\96+\\b2 \\f0\\9f\\98+\\80 \\e2\\96+\\bc | borders"},
  {"no pre-tokenizer", "'pre_tokenizer':null,", "'a':0", "", "0=a ", "| borders"},
  {"spaces are U+2581 elsewhere", "'normalizer':" REPLACE ",'pre_tokenizer':" SPLIT_SPACES ",", "'▁':0,'▁▁':1",
   "'▁ ▁'", "0=\\20 1=\\20\\20 1000=\\00 ", "1255=\\ff \\20+\\20 | spaces borders"},
  {"a space itself is never in a text then", "'normalizer':" REPLACE ",", "' ':5,'▁':0", "", "5=\\20* 0=\\20 ",
   "| spaces borders"},
  {"and it is where nothing replaces it", "", "'▁':0", "", "0=\\e2\\96\\81 1000=\\00 ",
   "1255=\\ff \\e2\\96- \\e2+\\96 \\e2\\96+\\81 | borders"},
  {"a space in front", "'normalizer':{'type':'Sequence','normalizers':[" PREPEND "," REPLACE "]},", "'▁':0", "",
   "0=\\20 ", "| spaces prefix borders"},
  {"atoms keep their spelling",
   "'normalizer':" REPLACE ",'added_tokens':[{'id':1,'content':'▁▁','normalized':false}],",
   "'▁':0,'▁▁':1", "", "0=\\20 1=\\20\\20 ", "1255=\\ff [\\e2\\96\\81\\e2\\96\\81]=1 | spaces borders"},
};

static void models_of_characters_become_models_of_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof of_characters / sizeof *of_characters; i++) {
    const char *first = of_characters[i].first, *last = of_characters[i].last;
    const char *text = file_of_characters(of_characters[i].more, of_characters[i].vocab, of_characters[i].merges);
    Seen seen;
    char out[6000];
    if (open_file(&seen, text, strlen(text), false, 0, false) != STATUS_OK) {
      fail_msg("%s: refused at byte %zu: expected %s", of_characters[i].shows, seen.error.offset, seen.error.expected);
    }
    describe(&seen.read, out);
    size_t size = strlen(out), last_size = strlen(last);
    if (strncmp(out, first, strlen(first)) != 0 || size < last_size || strcmp(out + size - last_size, last) != 0) {
      fail_msg("%s: %s", of_characters[i].shows, out);
    }
    close_file(&seen);
  }
}

#define NO_CUT "no pre-tokenizer, or a Split at the spaces that were replaced"

static const struct {
  const char *more, *vocab, *expected, *name;
} no_characters[] = {
  {"'pre_tokenizer':{'type':'Metaspace'},", "'a':0", NO_CUT, "Metaspace"},
  {"'pre_tokenizer':" SPLIT_SPACES ",", "'a':0", NO_CUT, "Split"},
  {"'normalizer':" REPLACE ",'pre_tokenizer':{'type':'Split','pattern':{'String':'x'}},", "'a':0", NO_CUT, "Split"},
  {"'normalizer':" PREPEND ",", "'a':0", "a Replace of spaces beside it", "Prepend"},
  {"'normalizer':{'type':'Replace','pattern':{'String':' '},'content':'_'},", "'a':0", "no normalizer", "Replace"},
  {"'normalizer':{'type':'Replace','pattern':{'Regex':' '},'content':'▁'},", "'a':0", "no normalizer", "Replace"},
  {"'normalizer':" REPLACE ",'added_tokens':[{'id':1,'content':'x'}],", "'a':0",
   "an added token that is matched before the normalizer", "normalized"},
};

static void other_models_of_characters_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof no_characters / sizeof *no_characters; i++) {
    const char *text = file_of_characters(no_characters[i].more, no_characters[i].vocab, "");
    Seen seen;
    assert_int_equal(open_file(&seen, text, strlen(text), false, 0, false), STATUS_SHAPE);
    assert_string_equal(seen.error.expected, no_characters[i].expected);
    assert_string_equal(seen.error.name, no_characters[i].name);
    close_file(&seen);
  }
  static const struct Bad others[] = {
    {"{'model':{'byte_fallback':true,'vocab':@{'a':0},'merges':[]}}", "a token like <0x0A> for each byte", "", 0},
    {"{'model':{'byte_fallback':true,'ignore_merges':@true,'vocab':{'a':0},'merges':[]}}", "a model without it",
     "ignore_merges", 0},
    {"{'model':@{'type':'Unigram','byte_fallback':true,'vocab':[]},'pre_tokenizer':null}", "a model of the type BPE",
     "Unigram", 0},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    assert_refused(&others[i], quoted(others[i].file), false, others[i].name);
  }
}

/* Texts in NFC excuse that normalizer and no other. */
static void other_normalizers_are_refused(void **state) {
  static const struct Bad others = {.expected = "no normalizer"};
  (void)state;
  assert_refused(&others, quoted(WITH_NORMALIZER("@{'type':'NFKC'}")), true, "NFKC");
  assert_refused(&others, quoted(WITH_NORMALIZER("{'type':'Sequence','normalizers':[{'type':'NFC'},@{'type':'NFD'}]}")),
                 true, "NFD");
}

/* A million tokens are the most. */
static void too_many_tokens_are_refused(void **state) {
  (void)state;
  for (uint32_t count = VOCAB_TOKENS_MAX; count <= VOCAB_TOKENS_MAX + 1; count++) {
    Buffer file;
    Seen seen;
    buffer_init(&file, memory_system());
    assert_int_equal(buffer_add_string(&file, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{"),
                     STATUS_OK);
    size_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
      last = file.size + 1 + (i > 0);
      assert_int_equal(buffer_add_string(&file, i > 0 ? ",\"a\":0" : "\"a\":0"), STATUS_OK);
    }
    assert_int_equal(buffer_add_string(&file, "},\"merges\":[]}}"), STATUS_OK);
    Status status = open_file(&seen, file.bytes, file.size, false, 0, false);
    assert_int_equal(status, count > VOCAB_TOKENS_MAX ? STATUS_SHAPE : STATUS_OK);
    if (status != STATUS_OK) {
      assert_int_equal(seen.error.offset, last);
      assert_string_equal(seen.error.expected, "no more than 1000000 tokens");
    }
    close_file(&seen);
    buffer_free(&file);
  }
}

/* ---- out of memory ---- */

/* Enough of everything for lists and buffers to grow while they are in use. */
static void make_large(Buffer *file) {
  char item[100];
  assert_int_equal(buffer_add_string(file, "{\"added_tokens\":["), STATUS_OK);
  for (int i = 0; i < 70; i++) {
    sprintf(item, "%s{\"id\":%d,\"content\":\"<\\u007c%d>\",\"special\":true}", i > 0 ? "," : "", 5000 + i, i);
    assert_int_equal(buffer_add_string(file, item), STATUS_OK);
  }
  assert_int_equal(buffer_add_string(file, "],\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":"), STATUS_OK);
  const char *cuts = quoted(LIST(SPLIT(OLD_CL100K, ISOLATED) "," SPLIT("\\\\d", ISOLATED) "," BYTES));
  assert_int_equal(buffer_add_string(file, cuts), STATUS_OK);
  assert_int_equal(buffer_add_string(file, ",\"model\":{\"vocab\":{"), STATUS_OK);
  for (int i = 0; i < 70; i++) {
    sprintf(item, "%s\"\\u0120a%d\":%d", i > 0 ? "," : "", i, i);
    assert_int_equal(buffer_add_string(file, item), STATUS_OK);
  }
  assert_int_equal(buffer_add_string(file, "},\"merges\":["), STATUS_OK);
  for (int i = 0; i < 300; i++) {
    sprintf(item, i % 2 ? "%s[\"\\u0120\",\"a%d\"]" : "%s\"\\u0120 a%d\"", i > 0 ? "," : "", i);
    assert_int_equal(buffer_add_string(file, item), STATUS_OK);
  }
  assert_int_equal(buffer_add_string(file, "]}}"), STATUS_OK);
}

/* Does the k-th allocation, once or from then on, keep the file from being read? */
static bool fails_at(const char *bytes, size_t size, size_t k, bool once) {
  Seen seen;
  Status status = open_file(&seen, bytes, size, true, k, once);
  assert_true(status == STATUS_OK || status == STATUS_MEMORY);
  assert_true(status == STATUS_MEMORY || seen.fail.calls < k);
  close_file(&seen);
  return status == STATUS_MEMORY;
}

static size_t sweep(const char *bytes, size_t size) {
  size_t k = 1;
  while (fails_at(bytes, size, k, true) && fails_at(bytes, size, k, false)) k++;
  return k - 1;
}

static void out_of_memory_is_a_status(void **state) {
  (void)state;
  Buffer file;
  size_t swept = 0;
  buffer_init(&file, memory_system());
  make_large(&file);
  swept += sweep(file.bytes, file.size);
  buffer_free(&file);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    const char *text = quoted(good[i].file);
    swept += sweep(text, strlen(text));
  }
  for (size_t i = 0; i < sizeof of_characters / sizeof *of_characters; i++) {
    const char *text = file_of_characters(of_characters[i].more, of_characters[i].vocab, of_characters[i].merges);
    swept += sweep(text, strlen(text));
  }
  assert_true(swept > sizeof good / sizeof *good);
  printf("swept: tokenizer.json: %zu allocations, each failing once and from then on\n", swept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(good_files_are_read),
    cmocka_unit_test(every_byte_has_a_letter),
    cmocka_unit_test(bad_files_are_refused),
    cmocka_unit_test(added_tokens_are_a_million_at_most),
    cmocka_unit_test(models_of_characters_become_models_of_bytes),
    cmocka_unit_test(other_models_of_characters_are_refused),
    cmocka_unit_test(other_normalizers_are_refused),
    cmocka_unit_test(too_many_tokens_are_refused),
    cmocka_unit_test(out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
