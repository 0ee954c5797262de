/*
** The peers of tests/bench/sessions.sh: they keep the same turns, one call for each.
**
**     node sessions.mjs langgraph TURNS.jsonl DATABASE     a row, as tests/bench/sessions.lua prints it
**     node sessions.mjs agents TURNS.jsonl                 the same in memory: the package has no session on disk
**
** langgraph: SqliteSaver.put with the whole list of messages, which is what a graph with a messages channel saves at
** each step; a real graph makes several steps a turn and puts each write beside them. The kindest reading.
*/
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { performance } from "node:perf_hooks";

const [peer, turnsPath, database] = process.argv.slice(2);
const lines = readFileSync(turnsPath, "utf8").split("\n").filter((line) => line !== "");
const messages = lines.map((line) => JSON.parse(line));

function digest(texts) {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(text + "\n");
  return hash.digest("hex").slice(0, 16);
}

function sizeOf(path) {
  return ["", "-wal", "-shm"].reduce((sum, rest) => sum + (existsSync(path + rest) ? statSync(path + rest).size : 0), 0);
}

async function measure(run) {
  const used = process.cpuUsage();
  const start = performance.now();
  await run();
  const { user, system } = process.cpuUsage(used);
  return { clock: performance.now() - start, cpu: (user + system) / 1000 };
}

function print(name, bytes, append, read, texts) {
  const turns = messages.length / 2;
  console.log([name, bytes, append.clock / turns, append.cpu / turns, read.cpu, digest(texts)].join("\t"));
}

async function langgraph() {
  const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
  const { emptyCheckpoint, uuid6 } = await import("@langchain/langgraph-checkpoint");
  const { AIMessage, HumanMessage } = await import("@langchain/core/messages");
  const saver = SqliteSaver.fromConnString(database);
  const list = [];
  let config = { configurable: { thread_id: "a", checkpoint_ns: "" } };
  const append = await measure(async () => {
    for (let i = 0; i < messages.length; i += 2) {
      list.push(new HumanMessage(messages[i].content), new AIMessage(messages[i + 1].content));
      const step = i / 2;
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values: { messages: list },
        channel_versions: { messages: step + 1 } };
      config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} });
    }
  });
  const syncs = ["OFF", "NORMAL", "FULL", "EXTRA"][saver.db.pragma("synchronous", { simple: true })];
  saver.db.pragma("wal_checkpoint(TRUNCATE)");
  saver.db.close();
  const bytes = sizeOf(database);
  let texts;
  const read = await measure(async () => {
    const again = SqliteSaver.fromConnString(database);
    const tuple = await again.getTuple({ configurable: { thread_id: "a", checkpoint_ns: "" } });
    texts = tuple.checkpoint.channel_values.messages.map((message) => message.content);
  });
  print(`LangGraph's SqliteSaver, ${syncs}`, bytes, append, read, texts);
}

async function agents() {
  const { MemorySession } = await import("@openai/agents-core");
  const session = new MemorySession();
  const append = await measure(async () => {
    for (let i = 0; i < messages.length; i += 2) {
      const [user, assistant] = [messages[i], messages[i + 1]];
      await session.addItems([{ type: "message", ...user },
        { type: "message", role: "assistant", status: "completed",
          content: [{ type: "output_text", text: assistant.content }] }]);
    }
  });
  let texts;
  const read = await measure(async () => {
    texts = (await session.getItems()).map((item) => typeof item.content === "string" ? item.content
      : item.content[0].text);
  });
  print("OpenAI Agents' MemorySession", 0, append, read, texts);
}

await (peer === "langgraph" ? langgraph() : agents());
