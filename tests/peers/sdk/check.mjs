/*
** Hands request bodies to the providers' own packages.
**
**     node check.mjs PACKAGES FOLDER     FOLDER has openai-1.json, responses-1.json and so on
**
** What each package sends to a server on this machine is the body, byte for byte as JSON.stringify has it; Google's
** takes parameters, and writes the body from them in an order of its own. And `tsc` accepts the bodies as values of
** the packages' types, and refuses the wrong ones here. The last line is "N passed, N failed".
*/
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, folder] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));

/* ---- the server ---- */

const ANSWER = JSON.stringify({ id: "x", choices: [], output: [], content: [], candidates: [] });
let received;

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  received = { path: request.url, text: Buffer.concat(chunks).toString() };
  const streams = /"stream":true/.test(received.text);
  response.setHeader("content-type", streams ? "text/event-stream" : "application/json");
  response.end(streams ? "data: [DONE]\n\n" : ANSWER);
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}`;

/* ---- the packages ---- */

const { OpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");
const { GoogleGenAI } = require("@google/genai");
const openai = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0, timeout: 10000 });
const google = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } });

/* generateContent has the model, the contents, and all others in one config. */
function parametersOf({ model, contents, systemInstruction, tools, toolConfig, generationConfig, ...others }) {
  if (Object.keys(others).length > 0) throw new Error(`no parameter takes ${Object.keys(others)}`);
  return { model, contents, config: { ...generationConfig, systemInstruction, tools, toolConfig } };
}

/* Objects with their members in one order. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

const same = (value) => value;

const DIALECTS = {
  openai: {
    path: () => "/chat/completions", send: (body) => openai.chat.completions.create(body), value: same, order: same,
    type: "OpenAI.ChatCompletionCreateParams",
    wrong: { model: "m", messages: [{ role: "user", content: "q", timestamp: 5 }] },
  },
  responses: {
    path: () => "/responses", send: (body) => openai.responses.create(body), value: same, order: same,
    type: "OpenAI.Responses.ResponseCreateParams",
    wrong: { model: "m", input: [{ role: "user", content: [{ type: "text", text: "q" }] }] },
  },
  anthropic: {
    path: () => "/v1/messages", send: (body) => anthropic.messages.create(body), value: same, order: same,
    type: "Anthropic.MessageCreateParams",
    wrong: { model: "m", max_tokens: 5, messages: [{ role: "system", content: [{ type: "image_url" }] }] },
  },
  gemini: {
    path: ({ model }) => `/models/${model}:generateContent`,
    send: (body) => google.models.generateContent(body), value: parametersOf,
    order: ({ model, generationConfig = {}, ...body }) => sorted({ ...body, generationConfig }),   // {} is sent, too
    type: "Plain<GenerateContentParameters>",
    wrong: { model: "m", contents: [{ role: "user", parts: [{ text: "q", cache: 5 }] }] },
  },
};

/* ---- sending ---- */

let passed = 0;
let failed = 0;

function note(name, problem) {
  if (problem === undefined) passed++;
  else {
    failed++;
    console.log(`failed: ${name}: ${problem}`);
  }
}

/* Why the package does not send the body as it stands; undefined if it does. */
async function send({ path, send, value, order }, text) {
  const body = JSON.parse(text);
  received = undefined;
  try {
    await send(value(body));
  } catch (error) {
    return error.stack;
  }
  const expected = JSON.stringify(order(body));
  if (received === undefined) return "nothing was sent";
  if (!received.path.endsWith(path(body))) return `to ${received.path}`;
  const sent = order === same ? received.text : JSON.stringify(order(JSON.parse(received.text)));
  return sent === expected ? undefined : `sent ${sent}\nin place of ${expected}`;
}

/* ---- types ---- */

/* Enums of strings take the strings, as JSON has them. */
const HEAD = [
  'import type OpenAI from "openai";',
  'import type Anthropic from "@anthropic-ai/sdk";',
  'import type { GenerateContentParameters } from "@google/genai";',
  "type Plain<T> = unknown extends T ? T : T extends string ? `${T}` : T extends (infer E)[] ? Plain<E>[] :",
  "  T extends object ? { [K in keyof T]: Plain<T[K]> } : T;",
];

/* A line for each body; tsc complains of a line with @ts-expect-error whose next line is right. */
function typesOf(bodies) {
  const lines = [...HEAD];
  const names = {};
  const add = (name, type, value) => {
    lines.push(`export const value${lines.length}: ${type} = ${JSON.stringify(value)};`);
    names[lines.length] = name;
  };
  for (const { name, dialect, text } of bodies) {
    add(name, DIALECTS[dialect].type, DIALECTS[dialect].value(JSON.parse(text)));
  }
  for (const [dialect, { type, wrong }] of Object.entries(DIALECTS)) {
    lines.push("// @ts-expect-error");
    names[lines.length] = `a wrong body of ${dialect}`;
    add(names[lines.length], type, wrong);
  }
  return { lines, names };
}

function checkTypes(bodies) {
  const { lines, names } = typesOf(bodies);
  writeFileSync(join(folder, "types.ts"), lines.join("\n") + "\n");
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  symlinkSync(join(packages, "node_modules"), join(folder, "node_modules"));
  const tsc = join(packages, "node_modules", ".bin", "tsc");
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022",
    "--pretty", "false"];
  const { stdout, stderr, status } = spawnSync(tsc, [...options, "types.ts"], { cwd: folder, encoding: "utf8" });
  const problems = {};
  for (const [, line, problem] of stdout.matchAll(/^types\.ts\((\d+),\d+\): (.*(?:\n .*)*)/gm)) {
    problems[names[line] ?? "types.ts"] ??= problem;
  }
  if (status !== 0 && Object.keys(problems).length === 0) problems["types.ts"] = stdout + stderr;
  for (const name of new Set([...Object.values(names), ...Object.keys(problems)])) {
    note(`types of ${name}`, problems[name]);
  }
}

/* ---- all ---- */

const bodies = [];
for (const name of readdirSync(folder).filter((file) => file.endsWith(".json"))) {
  bodies.push({ name, dialect: name.split("-")[0], text: readFileSync(join(folder, name), "utf8") });
}
for (const { name, dialect, text } of bodies) note(`sending ${name}`, await send(DIALECTS[dialect], text));
server.close();
server.closeAllConnections();
checkTypes(bodies);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
