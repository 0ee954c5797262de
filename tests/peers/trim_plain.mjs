/*
** The peer with plain arrays: what a Node programmer writes to trim a conversation.
**
**     node trim_plain.mjs FILE.jsonl [BUDGET]     default: half of all tokens
**
** Drops the oldest units, system messages aside, until the rest is within the budget. An assistant message and the
** tool results after it are one unit, so that no call is torn from its result.
*/
import { REPLY, estimate, readMessages, writeMessages } from "./jsonl.mjs";

function trim(messages, tokens, total, budget) {
  const kept = [];
  let at = 0;
  while (at < messages.length && total > budget) {
    const start = at++;
    if (messages[start].tool_calls !== undefined) {
      while (at < messages.length && messages[at].role === "tool") at++;
    }
    if (messages[start].role === "system") {
      kept.push(messages[start]);
    } else {
      for (let i = start; i < at; i++) total -= tokens[i];
    }
  }
  return kept.concat(messages.slice(at));
}

const [, , path, limit] = process.argv;
const messages = readMessages(path);
const tokens = messages.map(estimate);
const total = tokens.reduce((sum, n) => sum + n, REPLY);
const budget = limit === undefined ? Math.floor(total / 2) : Number(limit);
writeMessages(trim(messages, tokens, total, budget));
