#!/bin/sh
# A message of LangChain that was made with contentBlocks has a content in memory, and none when it is written as JSON:
# its blocks stand in content_blocks alone, and `content` of the JSON has no text. load() puts it back.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @langchain/core@1.4.0
cat > show.mjs <<'END'
import { readFileSync } from "node:fs";
import { AIMessage, mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { load } from "@langchain/core/load";

const version = JSON.parse(readFileSync("node_modules/@langchain/core/package.json")).version;
const message = new AIMessage({ contentBlocks: [{ type: "text", text: "Lock 2 is open." }] });
const dumped = JSON.parse(JSON.stringify(message)).kwargs;
const stored = mapChatMessagesToStoredMessages([message])[0].data;
const loaded = await load(JSON.stringify(message));

console.log(`@langchain/core ${version}, node ${process.version}`);
console.log("content in memory:      ", JSON.stringify(message.content));
console.log("members of the dump:    ", Object.keys(dumped).join(", "));
console.log("content of the dump:    ", JSON.stringify(dumped.content));
console.log("content as stored:      ", JSON.stringify(stored.content));
console.log("content_blocks as dump: ", JSON.stringify(dumped.content_blocks));
console.log("content after load():   ", JSON.stringify(loaded.content));

const is_so = message.content.length === 1 && dumped.content === undefined && stored.content === undefined
  && dumped.content_blocks[0].text === "Lock 2 is open." && loaded.content[0].text === "Lock 2 is open.";
console.log(is_so ? "As found: the JSON has no content." : "Changed: the JSON is another one now.");
process.exit(is_so ? 0 : 1);
END
node show.mjs
