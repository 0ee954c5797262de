/*
** LangChain's trimMessages over recordings: before each message of the assistant the whole history is trimmed, as a
** caller does who keeps it all. Counts, shares and costs are those of `ebb trim --replay --cache general`.
**
**     EBB=build/release/ebb node replay_langchain.mjs SHARE FILE...     SHARE: of each file's tokens, such as 0.5
**
** A line per setting: requests, tokens, share in common with the request before, cost in costs of no trimming, requests
** that hold a result without its call or a call without its result, requests without a user message, and elements of
** lists that are undefined: trimMessages returns those where the system message alone is too much.
*/
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { trimMessages } from "@langchain/core/messages";
import { toLangChain } from "./langchain.mjs";

const EBB = process.env.EBB ?? "build/release/ebb";
const READ = 0.1;   // price of a token that the cache serves

const SETTINGS = {
  "trimMessages, last, includeSystem": { strategy: "last", includeSystem: true },
  "the same, startOn human": { strategy: "last", includeSystem: true, startOn: "human" },
};

function load(file) {
  const value = JSON.parse(readFileSync(file, "utf8")), messages = value.messages ?? value;
  const options = { maxBuffer: 1 << 28 };
  const counted = JSON.parse(execFileSync(EBB, ["inspect", "--json", "--encoding", "o200k_base", file], options));
  return { messages, tokens: counted.messages.map((message) => message.tokens) };
}

/* Is a call without its result, or a result without its call, among the messages? */
function isTorn(list) {
  const calls = new Set(list.flatMap((message) => (message.tool_calls ?? []).map((call) => call.id)));
  const answers = list.filter((message) => message.role === "tool").map((message) => message.tool_call_id);
  return answers.some((id) => !calls.has(id)) || calls.size > new Set(answers).size;
}

function add(sums, list, tokens, before) {
  let shared = 0, same = 0;
  while (same < list.length && list[same] === before[same]) shared += tokens[list[same++]];
  const total = list.reduce((sum, index) => sum + tokens[index], 0);
  sums.requests += 1;
  sums.total += total;
  sums.shared += shared;
  sums.cost += total - (1 - READ) * shared;
}

async function play({ messages, tokens }, share, settings, sums, untrimmed) {
  const classes = messages.map(toLangChain);
  const tokenCounter = (list) => list.reduce((sum, message) => sum + tokens[message.id], 0);
  const maxTokens = Math.floor(share * tokens.reduce((sum, n) => sum + n, 0));
  let before = [], whole = [];
  for (let end = 1; end < messages.length; end++) {
    if (messages[end].role !== "assistant") continue;
    const kept = await trimMessages(classes.slice(0, end), { ...settings, maxTokens, tokenCounter });
    const list = kept.filter((message) => message !== undefined).map((message) => Number(message.id));
    const all = classes.slice(0, end).map((_, index) => index);
    sums.holes += kept.length - list.length;
    add(sums, list, tokens, before);
    add(untrimmed, all, tokens, whole);
    const request = list.map((index) => messages[index]);
    sums.torn += isTorn(request) ? 1 : 0;
    sums.userless += request.some((message) => message.role === "user") ? 0 : 1;
    before = list;
    whole = all;
  }
}

const zero = () => ({ requests: 0, total: 0, shared: 0, cost: 0, torn: 0, userless: 0, holes: 0 });
const [, , share, ...files] = process.argv;
const recordings = files.map(load);
console.log("requests  tokens  shared  x none  torn  userless  holes  setting");
for (const [name, settings] of Object.entries(SETTINGS)) {
  const sums = zero(), untrimmed = zero();
  for (const recording of recordings) await play(recording, Number(share), settings, sums, untrimmed);
  const cells = [sums.requests, sums.total, `${(100 * sums.shared / sums.total).toFixed(1)} %`,
    (sums.cost / untrimmed.cost).toFixed(2), sums.torn, sums.userless, sums.holes, name];
  console.log(cells.join("  "));
}
