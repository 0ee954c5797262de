/*
** Tool text: what a model reads of its tools. OpenAI writes their schemas as declarations of
** TypeScript:
**
**     namespace functions {
**
**     // Get the current weather in a given location
**     type get_current_weather = (_: {
**     // The city and state, e.g. San Francisco, CA
**     location: string,
**     unit?: "celsius" | "fahrenheit",
**     }) => any;
**
**     } // namespace functions
**
** Properties that are not required have a question mark. An enum is its values, anyOf its
** alternatives; an array is its items with [], an object its properties between braces, indented by
** 2 more. Descriptions stand before functions and their own properties, not before those further
** down. const, minimum, maximum and additionalProperties are not shown. So say npm
** openai-chat-tokens 0.2.8 and github forestwanglin/openai-java (jtokkit), which agree; the former
** compares itself with the API.
**
** What these rules leave open (other keywords, tools that are no functions) is kept apart as its
** JSON text and makes the whole a guess.
*/
#ifndef EBB_DIALECT_TOOL_TEXT_H
#define EBB_DIALECT_TOOL_TEXT_H

#include "base/buffer.h"
#include "json/json.h"

typedef struct ToolText {
  Buffer declarations;
  Buffer others;             /* JSON of what has no rule */
  bool any;                  /* the list has a tool */
  bool guessed;
} ToolText;

void   tool_text_init(ToolText *text, Memory memory);
void   tool_text_free(ToolText *text);

/* Reads a list of tools: {"type": "function", "function": {..}}, functions themselves, or lists of them under
   functionDeclarations; any other JSON counts as text. O(its size). STATUS_MEMORY. Call it once. */
Status tool_text_read(ToolText *text, const JsonValue *tools);

#endif
