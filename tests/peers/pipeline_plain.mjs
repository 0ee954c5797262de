/*
** The peer of `ebb pipeline` with plain arrays: what a Node programmer writes to make a request of a conversation.
**
**     node pipeline_plain.mjs FILE.jsonl AGENT.json BUDGET
**
** The agent's rules rewrite the texts of their roles, one after the other. Its presets stand before the history, or at
** a depth of it, with {{char}} expanded. Then the oldest units of the history go, system messages aside, until the
** request is within the budget. The result is the body, on standard output.
*/
import fs from "node:fs";
import { REPLY, estimate, readMessages, writeAll } from "./jsonl.mjs";

function rulesOf(agent) {
  return agent.rules.flatMap((preset) => preset.rules).map((rule) => ({
    regex: new RegExp(rule.regex, rule.flags), replacement: rule.replacement, roles: new Set(rule.targetRoles),
  }));
}

function rewrite(messages, rules) {
  for (const message of messages) {
    if (typeof message.content !== "string") continue;
    for (const rule of rules) {
      if (rule.roles.has(message.role)) message.content = message.content.replace(rule.regex, rule.replacement);
    }
  }
}

/* Places inside of a unit give way to the one before it. */
function placeOf(messages, depth) {
  let at = Math.max(0, messages.length - depth);
  while (at > 0 && at < messages.length && messages[at].role === "tool") at--;
  return at;
}

/* The list of {message, history}: presets and history in the order of the request. */
function assemble(messages, agent) {
  const expand = (text) => text.replaceAll("{{char}}", agent.name);
  const head = [], at = new Map();
  for (const preset of agent.presets) {
    if (preset.type === "chat_history") continue;
    const message = { role: preset.role, content: expand(preset.content) };
    const depth = preset.injectionStrategy?.depth;
    if (depth === undefined) head.push({ message, history: false });
    else {
      const place = placeOf(messages, depth);
      if (!at.has(place)) at.set(place, []);
      at.get(place).push({ message, history: false });
    }
  }
  const list = head;
  for (let i = 0; i <= messages.length; i++) {
    for (const item of at.get(i) ?? []) list.push(item);
    if (i < messages.length) list.push({ message: messages[i], history: true });
  }
  return list;
}

function trim(list, budget) {
  const tokens = list.map((item) => estimate(item.message));
  let total = tokens.reduce((sum, n) => sum + n, REPLY);
  const kept = [];
  let at = 0;
  while (at < list.length) {
    const start = at++;
    if (list[start].message.tool_calls !== undefined) {
      while (at < list.length && list[at].message.role === "tool") at++;
    }
    const goes = total > budget && list[start].history && list[start].message.role !== "system";
    for (let i = start; i < at; i++) {
      if (goes) total -= tokens[i];
      else kept.push(list[i].message);
    }
  }
  return kept;
}

const [, , path, agentPath, budget] = process.argv;
const agent = JSON.parse(fs.readFileSync(agentPath, "utf8"));
const messages = readMessages(path);
rewrite(messages, rulesOf(agent));
writeAll(JSON.stringify({ messages: trim(assemble(messages, agent), Number(budget)) }));
