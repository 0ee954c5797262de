#!/bin/sh
# Pieces of a streamed reply of LangChain are written with `tool_calls` that nobody made: half an argument is read as
# {}, and the other half as an invalid call without a name. What was sent stands in `tool_call_chunks`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/core@1.4.0
cat > show.mjs <<'END'
import { readFileSync } from "node:fs";
import { AIMessageChunk } from "@langchain/core/messages";

const version = JSON.parse(readFileSync("node_modules/@langchain/core/package.json")).version;
const piece = (chunk) => new AIMessageChunk({ id: "m", content: "",
  tool_call_chunks: [{ index: 0, type: "tool_call_chunk", ...chunk }] });
const pieces = [piece({ id: "k", name: "lock", args: '{"nu' }), piece({ args: 'mber":2}' })];
const dumps = pieces.map((each) => JSON.parse(JSON.stringify(each)).kwargs);
const joined = pieces[0].concat(pieces[1]);

console.log(`@langchain/core ${version}, node ${process.version}`);
dumps.forEach((dump, i) => {
  console.log(`piece ${i + 1} was sent:         `, JSON.stringify(dump.tool_call_chunks[0].args));
  console.log(`piece ${i + 1} tool_calls:       `, JSON.stringify(dump.tool_calls));
  console.log(`piece ${i + 1} invalid_tool_calls:`, JSON.stringify(dump.invalid_tool_calls));
});
console.log("joined by concat():      ", JSON.stringify(joined.tool_calls));

const is_so = JSON.stringify(dumps[0].tool_calls[0].args) === "{}" && dumps[1].invalid_tool_calls.length === 1
  && JSON.stringify(joined.tool_calls[0].args) === '{"number":2}';
console.log(is_so ? "As found: the calls of a piece are guesses." : "Changed: pieces have other calls now.");
process.exit(is_so ? 0 : 1);
END
node show.mjs
