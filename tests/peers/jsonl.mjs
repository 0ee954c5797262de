/*
** What the peers share: JSONL in and out, and the token estimate of Ebb's `bytes4`.
**
** A file is read as one string and split, as most programs do; one that Node's strings cannot hold is read in chunks
** and split on bytes. With EBB_PEER_CHUNKS=1 every file is: more code, but faster for large files, so that a fair
** comparison names both.
*/
import fs from "node:fs";
import { constants } from "node:buffer";

const CHUNK = 64 << 20;
const WRITE = 4 << 20;   // characters gathered before a write
const NEWLINE = 10;

function parseWhole(path) {
  const messages = [];
  for (const line of fs.readFileSync(path, "utf8").split("\n")) {
    if (line.length > 0) messages.push(JSON.parse(line));
  }
  return messages;
}

/* The bytes after the last newline of a chunk are put before the next one. */
function parseChunks(path) {
  const messages = [];
  const file = fs.openSync(path, "r");
  let buffer = Buffer.allocUnsafe(CHUNK);
  let rest = 0;   // bytes of an unfinished line, at the start of the buffer
  for (;;) {
    if (rest === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);   // a line longer than the buffer
    const got = fs.readSync(file, buffer, rest, buffer.length - rest, null);
    if (got === 0) break;
    const end = rest + got;
    let start = 0;
    const filled = buffer.subarray(0, end);
    for (let at; (at = filled.indexOf(NEWLINE, start)) >= 0; start = at + 1) {
      if (at > start) messages.push(JSON.parse(buffer.toString("utf8", start, at)));
    }
    buffer.copyWithin(0, start, end);
    rest = end - start;
  }
  fs.closeSync(file);
  if (rest > 0) messages.push(JSON.parse(buffer.toString("utf8", 0, rest)));
  return messages;
}

export function readMessages(path) {
  const chunks = process.env.EBB_PEER_CHUNKS === "1" || fs.statSync(path).size > constants.MAX_STRING_LENGTH;
  return chunks ? parseChunks(path) : parseWhole(path);
}

/* What a request costs besides its messages: the reply that it primes. */
export const REPLY = 3;

/* Text and tool calls (name and arguments) as UTF-8 bytes / 4 rounded up; 3 for framing, 1 for the role, 1 for a name. */
export function estimate(message) {
  let bytes = 0;
  if (typeof message.content === "string") bytes += Buffer.byteLength(message.content);
  for (const call of message.tool_calls ?? []) {
    bytes += Buffer.byteLength(call.function.name) + Buffer.byteLength(call.function.arguments);
  }
  return Math.ceil(bytes / 4) + 4 + (message.name === undefined ? 0 : 1);
}

/* Writes all of it, however little a pipe takes at once. */
export function writeAll(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;   // a full pipe that does not block: once more
    }
  }
}

export function writeMessages(messages) {
  let text = "";
  for (const message of messages) {
    text += JSON.stringify(message) + "\n";
    if (text.length > WRITE) {
      writeAll(text);
      text = "";
    }
  }
  writeAll(text);
}
