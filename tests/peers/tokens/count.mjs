/*
** Counts a file with a tokenizer from npm, twice, for tests/bench/tokens.sh and tests/bench/vocabularies.sh:
**
**     node count.mjs PEERS PEER ENCODING FILE PART SECONDS   ->   nanoseconds first, again, tokens, bytes
**
** The file is counted in parts of PART bytes, cut between characters (0: whole, and once only); after SECONDS no
** further part is begun, and `bytes` says how many were counted. Each peer does what it is fastest at: it counts, if it
** can, and else encodes. Reading the file and loading the vocabulary are not measured. Time is that of the thread on a
** processor, as far as the system tells it; of the whole process for `tokenizers`, which has threads of its own.
*/
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { hubTokenizer } from "./hub.mjs";

const [, , peers, peer, encoding, file, part, seconds] = process.argv;
const require = createRequire(path.resolve(peers, "package.json"));

const PEERS = {
  "@huggingface/tokenizers": () => {      // ENCODING is a tokenizer.json
    const { Tokenizer } = require("@huggingface/tokenizers");
    const tokenizer = new Tokenizer(JSON.parse(fs.readFileSync(encoding, "utf8")), {});
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.length;
  },
  "tiktoken": () => {
    const tokenizer = require("tiktoken").get_encoding(encoding);
    return (text) => tokenizer.encode_ordinary(text).length;
  },
  "gpt-tokenizer": () => {
    const { countTokens } = require(`gpt-tokenizer/encoding/${encoding}`), options = { disallowedSpecial: new Set() };
    return (text) => countTokens(text, options);
  },
  "js-tiktoken": () => {
    const tokenizer = require("js-tiktoken").getEncoding(encoding);
    return (text) => tokenizer.encode(text, [], []).length;
  },
  "ai-tokenizer": () => {
    const { Tokenizer } = require("ai-tokenizer");
    const tokenizer = new Tokenizer(require(`ai-tokenizer/encoding/${encoding}`));
    return (text) => tokenizer.count(text);
  },
  "tokenizers": () => {
    const tokenizer = hubTokenizer(require, peers, encoding);
    return async (text) => (await tokenizer.encode(text, null, { addSpecialTokens: false })).getLength();
  },
};

function partsOf(bytes, most) {
  const parts = [];
  for (let at = 0, end; at < bytes.length; at = end) {
    end = most === 0 ? bytes.length : Math.min(at + most, bytes.length);
    while (end < bytes.length && end > at + 1 && (bytes[end] & 0xC0) === 0x80) end--;
    parts.push({ text: bytes.toString("utf8", at, end), size: end - at });
  }
  return parts;
}

function nanoseconds() {
  if (peer === "tokenizers") {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1000;
  }
  try {
    return Number(fs.readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[0]);
  } catch {
    return performance.now() * 1e6;
  }
}

async function pass(count, parts) {
  let tokens = 0, bytes = 0, done = 0;
  const start = nanoseconds(), stop = performance.now() + seconds * 1000;
  for (const { text, size } of parts) {
    tokens += await count(text);
    bytes += size;
    done++;
    if (performance.now() > stop) break;
  }
  return { took: nanoseconds() - start, count: done, tokens, bytes };
}

const count = PEERS[peer]();
const parts = partsOf(fs.readFileSync(file), Number(part));
const first = await pass(count, parts);
const again = Number(part) === 0 ? first : await pass(count, parts.slice(0, first.count));
const took = Math.round(again.took * first.bytes / again.bytes);   // it may not have come as far
console.log(`${first.took} ${took} ${first.tokens} ${first.bytes}`);
