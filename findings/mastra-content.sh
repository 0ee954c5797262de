#!/bin/sh
# A message of the assistant that Mastra keeps has a text in content.content: it is the last one of its turn only. What
# was said before a tool ran, the call and its result stand in content.parts alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @mastra/core@1.71.0
cat > show.mjs <<'END'
import { readFileSync } from "node:fs";
import { MessageList } from "@mastra/core/agent";

const version = JSON.parse(readFileSync("node_modules/@mastra/core/package.json")).version;
const list = new MessageList({ threadId: "t", resourceId: "r" });
list.add([{ role: "user", content: "Is lock 2 open?" }], "input");
list.add([
  { role: "assistant", content: [{ type: "text", text: "I look." },
    { type: "tool-call", toolCallId: "k", toolName: "lock", input: { number: 2 } }] },
  { role: "tool", content: [{ type: "tool-result", toolCallId: "k", toolName: "lock",
    output: { type: "json", value: { open: true } } }] },
  { role: "assistant", content: [{ type: "text", text: "It is open." }] },
], "response");
const kept = list.get.all.db();
const answer = kept[kept.length - 1].content;

console.log(`@mastra/core ${version}, node ${process.version}`);
console.log("messages kept:  ", kept.map((each) => each.role).join(", "));
console.log("content.content:", JSON.stringify(answer.content));
console.log("content.parts:  ", answer.parts.map((part) => part.type === "text" ? part.text : part.type).join(" | "));

const is_so = kept.length === 2 && answer.content === "It is open."
  && answer.parts.some((part) => part.text === "I look.");
console.log(is_so ? "As found: content.content has the last text only." : "Changed: it is kept in another way now.");
process.exit(is_so ? 0 : 1);
END
node show.mjs
