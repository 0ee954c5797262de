/*
** The peer with LangChain's trimMessages, as its documentation shows it.
**
**     node trim_langchain.mjs FILE.jsonl [BUDGET]     default: half of all tokens
**
** trimMessages asks for the tokens of a list, again for each message that it drops. Each message is estimated once
** here and the counter only adds up: what is measured is the trimming, not the estimate.
** The kept messages are written from the JSON that was read, found again by the id that each is given.
*/
import { trimMessages } from "@langchain/core/messages";
import { REPLY, estimate, readMessages, writeMessages } from "./jsonl.mjs";
import { toLangChain } from "./langchain.mjs";

const [, , path, limit] = process.argv;
const messages = readMessages(path);
const tokens = messages.map(estimate);
const tokenCounter = (list) => list.reduce((sum, message) => sum + tokens[message.id], REPLY);
const total = tokens.reduce((sum, n) => sum + n, REPLY);
const maxTokens = limit === undefined ? Math.floor(total / 2) : Number(limit);
const kept = await trimMessages(messages.map(toLangChain), {
  strategy: "last", includeSystem: true, maxTokens, tokenCounter,
});
writeMessages(kept.map((message) => messages[message.id]));
