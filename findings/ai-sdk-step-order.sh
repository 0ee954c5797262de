#!/bin/sh
# A UIMessage of the AI SDK with a text behind a tool's result, and no step-start between them, is valid. Converted for
# a model, the text stands before the result: the model reads its own answer first, then what it answered from.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 zod@4.6.7
cat > show.mjs <<'END'
import { readFileSync } from "node:fs";
import { convertToModelMessages, validateUIMessages } from "ai";

const version = JSON.parse(readFileSync("node_modules/ai/package.json")).version;
const shown = (between) => [
  { id: "1", role: "user", parts: [{ type: "text", text: "Is lock 2 open?" }] },
  { id: "2", role: "assistant", parts: [{ type: "text", text: "I look." },
    { type: "tool-lock", toolCallId: "k", state: "output-available", input: { number: 2 }, output: { open: true } },
    ...between, { type: "text", text: "It is open." }] },
];
const words = (messages) => messages.map((message) => `${message.role}: ` + message.content.map((part) =>
  part.type === "text" ? part.text : part.type).join(" + ")).join(" | ");
await validateUIMessages({ messages: shown([]) });
const without = words(await convertToModelMessages(shown([])));
const divided = words(await convertToModelMessages(shown([{ type: "step-start" }])));

console.log(`ai ${version}, node ${process.version}`);
console.log("without step-start:", without);
console.log("with step-start:   ", divided);

const is_so = without.endsWith("assistant: I look. + tool-call + It is open. | tool: tool-result")
  && divided.endsWith("tool: tool-result | assistant: It is open.");
console.log(is_so ? "As found: without step-start the answer stands before the result."
  : "Changed: the order is another one now.");
process.exit(is_so ? 0 : 1);
END
node show.mjs
