/*
** The peers of tests/bench/operations.c: the same operations on the same kind of conversation, in Node.
**
**     node --expose-gc operations.mjs SIZE...   ->   lines "SIZE ROW COLUMN NUMBER", or "note TEXT"
**
** The number is nanoseconds per operation, the median of several rounds; bytes in rows that start with "bytes".
** Columns:
**
**     seeds       Ebb's seeds: an array that every operation copies; each but append and rollback first keeps a
**                 snapshot, deep-copied through JSON. Rollback takes the snapshot as it is, the kindest reading of a
**                 design that leaves it open.
**     immutable   immutable.js: a List; what it was before is kept by keeping it
**     langchain   trimMessages, strategy "last"; in row keep_recent with includeSystem
**
** What would take too long by the figure of the size before is not run, and a note says so. Sizes must ascend.
*/
import { performance } from "node:perf_hooks";
import { List } from "immutable";

const langchain = await import("@langchain/core/messages");

const OPS_MAX = 1000;
const BATCH_MS = 1;          // rounds shorter than this are made of more operations
const CASE_MS = 150;         // no further round is begun after so long
const ROUNDS_MAX = 301;
const ROUNDS_MIN = 3;        // unless one takes CASE_MS
const KEPT_MS = 1000;        // what 1000 snapshots may take; else as many as fit

/* An operation that takes longer than this is not run: milliseconds; how much dearer it is at ten times the size. */
const LIMITS = {
  seeds: { ms: 1000, growth: 10 },
  immutable: { ms: 1000, growth: 10 },
  langchain: { ms: 20000, growth: 100 },
};

/* ---- messages ---- */

let state = 0x2545f491;
function draw(limit) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
}

/* By way of JSON, as programs get them: objects made by spreading have a hidden class each in Node 20, and every look
   at one is then sixty times slower. */
const message = (fields) => JSON.parse(JSON.stringify({ ...fields, metadata: { tokens: 20 + draw(181) } }));
const userMessage = () => message({ role: "user", content: "What is in the log?" });
const answer = () => message({ role: "assistant", content: "Nothing new." });

function callAndResult(number) {
  const id = "call_" + String(number).padStart(8, "0");
  const calls = [{ id, type: "function", function: { name: "read", arguments: "{}" } }];
  return [
    message({ role: "assistant", content: null, tool_calls: calls }),
    message({ role: "tool", tool_call_id: id, content: "42" }),
  ];
}

/* The mix of generate.lua. */
function conversation(count) {
  const messages = [message({ role: "system", content: "Be brief." })];
  for (let calls = 0; messages.length < count;) {
    const unit = draw(731);
    if (unit < 1) messages.push(message({ role: "system", content: "Be brief." }));
    else if (unit < 231) messages.push(userMessage());
    else if (unit < 461 || messages.length + 1 === count) messages.push(answer());
    else messages.push(...callAndResult(++calls));
  }
  return messages;
}

/* ---- choices, the same for every list with get(i) ---- */

const tokensOf = (m) => m.metadata.tokens;

function suffixStart(get, count, budget) {
  let sum = 0, at = count;
  while (at > 0 && (sum += tokensOf(get(at - 1))) <= budget) at--;
  return at;
}

function recentUsers(get, count) {
  const found = [];
  for (let at = count; at-- > 0 && found.length < 3;) if (get(at).role === "user") found.push(get(at));
  return found;
}

/* Drops the oldest units, system messages aside; a call and the results behind it are a unit. */
function keepRecent(get, count, total, budget) {
  const kept = [];
  let at = 0;
  while (at < count && total > budget) {
    const first = get(at++);
    if (first.role === "system") {
      kept.push(first);
      continue;
    }
    total -= tokensOf(first);
    for (; at < count && get(at).role === "tool"; at++) total -= tokensOf(get(at));
  }
  for (; at < count; at++) kept.push(get(at));
  return kept;
}

const isTalk = (m) => m.role === "user" || m.role === "assistant";

/* ---- the seeds' design ---- */

const seedState = (messages) => ({
  messages, batchSnapshots: [], currentBatchIndex: 0, totalMessageCount: messages.length,
});

const statsOf = (s) => ({
  totalMessages: s.totalMessageCount, currentBatchMessages: s.messages.length,
  totalBatches: s.batchSnapshots.length + 1, currentBatchIndex: s.currentBatchIndex,
});

const seedResult = (s) => ({ state: s, affectedBatchIndex: s.currentBatchIndex, stats: statsOf(s) });

function seedAppend(s, added) {
  const messages = [...s.messages, ...added];
  return seedResult({ ...s, messages, totalMessageCount: messages.length });
}

/* Every edit that starts a batch: a snapshot of what was, then `change` on a copy of the array. */
function seedEdit(s, description, change) {
  const snapshot = {
    batchIndex: s.currentBatchIndex, timestamp: Date.now(), messages: JSON.parse(JSON.stringify(s.messages)),
    messageCount: s.messages.length, description,
  };
  const messages = change([...s.messages]);
  return seedResult({
    messages, batchSnapshots: [...s.batchSnapshots, snapshot], currentBatchIndex: s.currentBatchIndex + 1,
    totalMessageCount: messages.length,
  });
}

function seedInsert(s, position, added) {
  return seedEdit(s, `Before INSERT at position ${position}`, (messages) => {
    messages.splice(position, 0, ...added);
    return messages;
  });
}

function seedReplace(s, index, by) {
  return seedEdit(s, `Before REPLACE at ${index}`, (messages) => {
    messages[index] = by;
    return messages;
  });
}

const seedTruncate = (s, keepLast) => seedEdit(s, "Before TRUNCATE", (list) => list.slice(list.length - keepLast));
const seedFilter = (s) => seedEdit(s, "Before FILTER", (messages) => messages.filter(isTalk));

function seedRollback(s, batch) {
  const messages = s.batchSnapshots[batch].messages;
  return seedResult({ ...s, messages, currentBatchIndex: batch, totalMessageCount: messages.length });
}

/* ---- what is run: row -> ops => keeps what must live; `ops` operations ---- */

function seedRows({ n, messages, half, total, at, added }) {
  const base = seedState(messages);
  const get = (i) => messages[i];
  const chain = (ops, step) => {
    let s = base;
    for (let i = 0; i < ops; i++) s = step(s, i).state;
    return s;
  };
  const apart = (ops, step) => Array.from({ length: ops }, step);
  const edited = n <= 10000 ? seedTruncate(base, n >> 1).state : { ...base, batchSnapshots: [{ messages }] };
  return {
    append: (ops) => chain(ops, (s) => seedAppend(s, [added])),
    insert: (ops) => chain(ops, (s, i) => seedInsert(s, at[i], [added])),
    replace: (ops) => chain(ops, (s, i) => seedReplace(s, at[i], added)),
    truncate: (ops) => apart(ops, () => seedTruncate(base, n >> 1)),
    rollback: (ops) => apart(ops, () => seedRollback(edited, 0)),
    recent: (ops) => apart(ops, () => recentUsers(get, n)),
    suffix: (ops) => apart(ops, () => suffixStart(get, n, half)),
    trim: (ops) => apart(ops, () => seedTruncate(base, n - suffixStart(get, n, half))),
    keep_recent: (ops) => apart(ops, () => seedEdit(base, "Before TRIM", () => keepRecent(get, n, total, half))),
    filter: (ops) => apart(ops, () => seedFilter(base)),
    list: (ops) => apart(ops, () => messages.reduce((sum, m) => sum + tokensOf(m), 0)),
    snapshots: (ops) => chain(ops, (s, i) => seedReplace(s, at[i], added)),
  };
}

function immutableRows({ n, messages, half, total, at, added }) {
  const base = List(messages);
  const get = (i) => base.get(i);
  const chain = (ops, step) => {
    const kept = [base];
    for (let i = 0; i < ops; i++) kept.push(step(kept[i], i));
    return kept;
  };
  const apart = (ops, step) => Array.from({ length: ops }, step);
  const states = [base, base.slice(n >> 1)];
  return {
    append: (ops) => chain(ops, (list) => list.push(added)),
    append_first: (ops) => apart(ops, () => base.push(added)),
    insert: (ops) => chain(ops, (list, i) => list.insert(at[i], added)),
    replace: (ops) => chain(ops, (list, i) => list.set(at[i], added)),
    truncate: (ops) => apart(ops, () => base.slice(n - (n >> 1))),
    rollback: (ops) => apart(ops, (_, i) => states[i & 1]),
    recent: (ops) => apart(ops, () => recentUsers(get, n)),
    suffix: (ops) => apart(ops, () => suffixStart(get, n, half)),
    trim: (ops) => apart(ops, () => base.slice(suffixStart(get, n, half))),
    keep_recent: (ops) => apart(ops, () => List(keepRecent(get, n, total, half))),
    filter: (ops) => apart(ops, () => base.filter(isTalk)),
    list: (ops) => apart(ops, () => base.reduce((sum, m) => sum + tokensOf(m), 0)),
    snapshots: (ops) => chain(ops, (list, i) => list.set(at[i], added)),
  };
}

const CLASSES = {
  system: langchain.SystemMessage, user: langchain.HumanMessage, tool: langchain.ToolMessage,
  assistant: langchain.AIMessage,
};

function toLangChain(m) {
  return new CLASSES[m.role]({
    content: m.content ?? "", response_metadata: m.metadata, tool_call_id: m.tool_call_id,
    tool_calls: (m.tool_calls ?? []).map((call) => ({ id: call.id, name: call.function.name, args: {} })),
  });
}

/* The counter only adds up what is known of each message. */
function langchainRows({ messages, half }) {
  const list = messages.map(toLangChain);
  const tokenCounter = (some) => {
    let sum = 0;
    for (const m of some) sum += m.response_metadata.tokens;
    return sum;
  };
  const trim = (includeSystem) => async (ops) => {
    let kept;
    const options = { strategy: "last", includeSystem, maxTokens: half, tokenCounter };
    for (let i = 0; i < ops; i++) kept = await langchain.trimMessages(list, options);
    return kept;
  };
  return { trim: trim(false), keep_recent: trim(true) };
}

/* ---- measuring ---- */

let keepAlive;   // the last round's result, so that nothing is optimised away

async function round(run, ops) {
  keepAlive = undefined;
  const start = performance.now();
  keepAlive = await run(ops);
  return performance.now() - start;
}

/* Nanoseconds per operation. Operations per round are doubled until a round is long enough to be timed; by then the
   code is compiled. `ops` may be given instead. */
async function measure(run, opsMax, given) {
  let ops = given ?? 1;
  let ms = await round(run, ops);
  while (given === undefined && ms < BATCH_MS && ops < opsMax) {
    ops = Math.min(2 * ops, opsMax);
    ms = await round(run, ops);
  }
  const times = [];
  let spent = 0;
  do {
    ms = await round(run, ops);
    times.push(ms / ops);
    spent += ms;
  } while (times.length < ROUNDS_MAX && (spent < CASE_MS || (times.length < ROUNDS_MIN && ms < CASE_MS)));
  times.sort((a, b) => a - b);
  return times[times.length >> 1] * 1e6;
}

const GROWING = new Set(["append", "insert"]);   // few enough that the size stays what it is
const note = (text) => console.log("note", text);

const snapshotsFitting = (msEach) => Math.max(1, Math.min(OPS_MAX, Math.floor(KEPT_MS / msEach)));

/* `before`: the figures of the column's size before, by row. */
async function measureColumn(n, column, rows, before) {
  const { ms, growth } = LIMITS[column];
  const skipped = [], figures = {};
  for (const [row, run] of Object.entries(rows)) {
    const times = growth ** Math.log10(n / before.n);
    const expected = before.n === undefined ? 0 : (before[row] ?? Infinity) * times / 1e6;
    if (expected > ms) {
      skipped.push(row);
      continue;
    }
    const given = row === "snapshots" ? snapshotsFitting((figures.replace ?? ms * 1e6) / 1e6) : undefined;
    figures[row] = await measure(run, GROWING.has(row) ? Math.min(Math.ceil(n / 10), OPS_MAX) : OPS_MAX, given);
    console.log(n, row, column, figures[row].toPrecision(6));
    if (given < OPS_MAX) note(`${n} messages, ${column}: ${given} snapshots instead of 1000, to end in about a second`);
  }
  if (skipped.length > 0) {
    note(`${n} messages, ${column}: not run, as one would take over ${ms / 1000} s: ${skipped.join(", ")}`);
  }
  keepAlive = undefined;
  Object.assign(before, { n }, Object.fromEntries(skipped.map((row) => [row, Infinity])), figures);
}

function heap() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/* Bytes of the heap that `make(count)` needs per count. */
function bytesEach(make, count) {
  make(1);
  const empty = heap();
  keepAlive = make(count);
  const bytes = heap() - empty;
  keepAlive = undefined;
  return bytes / count;
}

function measureBytes(n, work, rows) {
  const print = (row, column, bytes) => console.log(n, row, column, Math.max(0, bytes).toPrecision(6));
  if (n <= 10000) print("bytes_snapshot", "seeds", bytesEach(rows.seeds.replace, n <= 1000 ? 100 : 10));
  print("bytes_snapshot", "immutable", bytesEach(rows.immutable.replace, OPS_MAX));
  const copies = Math.max(3, Math.ceil(1000000 / n));
  const each = (make) => bytesEach((count) => Array.from({ length: count }, make), copies) / n;
  print("bytes_message", "seeds", each(() => [...work.messages]));
  print("bytes_message", "immutable", each(() => List(work.messages)));
}

async function measureSize(n, before) {
  const messages = conversation(n);
  const total = messages.reduce((sum, m) => sum + tokensOf(m), 0);
  const at = Array.from({ length: OPS_MAX }, () => draw(n));
  const work = { n, messages, total, half: Math.floor(total / 2), at, added: userMessage() };
  const rows = { seeds: seedRows(work), immutable: immutableRows(work) };
  if (n <= 100000) rows.langchain = langchainRows(work);
  measureBytes(n, work, rows);
  for (const column of Object.keys(rows)) await measureColumn(n, column, rows[column], before[column]);
}

const before = { seeds: {}, immutable: {}, langchain: {} };
for (const size of process.argv.slice(2)) await measureSize(Number(size), before);
