/*
** Texts and the ids that npm `tiktoken` gives them.
**
**     node oracle.mjs expect PEERS ENCODING FOLDER TEXTS...   writes FOLDER/KIND.in and KIND.expected
**     node oracle.mjs expect PEERS NAME=FILE FOLDER TEXTS...  the same by `@huggingface/tokenizers`, of a tokenizer.json
**     node oracle.mjs compare FOLDER KIND                     ends with 1 if KIND.out is not KIND.expected
**     node oracle.mjs ranks PEERS ENCODING FILE               the tokens that npm `tiktoken` has, as a .tiktoken file
**
** Kinds: `points`, every code point alone and between letters, digits, spaces and punctuation; `strings`, random ones;
** `real`, up to 5 MB of files; `literals`, of r50k_base only, whose ids stand here. The formats are those of
** `tokens ids` (tests/bench/tokens.c).
**
** The oracle was right in all of the cases in which other packages differ from OpenAI's own tokenizer, so that nothing
** is left out here.
*/
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const STRINGS = Number(process.env.STRINGS ?? 100000), REAL_BYTES = Number(process.env.REAL_BYTES ?? 5e6);
const FILE_BYTES = 100000, PART = 4000;

/* Repeats from the seed that it says. */
function randomOf(seed) {
  let state = BigInt(seed);
  return (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xFFFFFFFFFFFFFFFFn;
    return Number((state >> 33n) % BigInt(below));
  };
}

function* points() {
  for (let point = 0; point <= 0x10FFFF; point++) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    const c = String.fromCodePoint(point);
    yield c;
    yield `a${c}b`;
    yield `1${c}2`;
    yield ` ${c} `;
    yield `!${c}?`;
    yield `\n${c}'s`;
  }
}

const WORDS = [
  "a", "the", "s", "S", "T", "LL", "'", "'s", "'Re", "'ve", "'d", "'LL", "'\u017F", "\u017F", " ", "  ", "\t", "\n",
  "\r\n", "\r", "/", "//", "!", "?!", ".", "0", "12", "3456", "\u00BD", "\u0301", "\u0300\u0301", "\u00E9", "\u01C5",
  "\u1D43", "\u4E2D", "\u4E2D\u6587", "\u3042", "\uFF0C", "\u3000", "\u00A0", "\u0085", "\uFEFF", "\u180E", "\u200B",
  "\u2028", "\u2019", "\u201C", "\u0416", "\u0436", "\u05D0", "\u0627\u0651", "\u0915\u094D\u0937", "\u{1F600}",
  "\u{1F468}\u200D\u{1F469}", "\uFE0F", "\u{E0100}", "\u{1C89}", "\u{18D19}", "<|endoftext|>", "camelCase",
  "HTTPServer", "return", " function", "        ", "==", "\");\n", "\u0000",
  "e\u0301", "\u212B", "\u1100\u1161", "\u2581", "\u2581\u2581", "\n\n\n", "\t\t", "<think>", "</td>", "<unused7>",
  "<\uFF5CUser\uFF5C>", ".:.:", "(\u0627)", "\u{20BB7}",
];

/* Words that begin rules of the patterns, few of them in most strings so that runs are long; or any code points. */
function* strings() {
  const seed = process.env.SEED ?? Date.now() % 1e9, random = randomOf(seed);
  console.log(`SEED=${seed}`);
  for (let i = 0; i < STRINGS; i++) {
    const few = random(4) === 0 ? WORDS.length : 1 + random(6), first = random(WORDS.length), any = random(10) === 0;
    let text = "";
    for (let left = 1 + random(random(20) === 0 ? 400 : 30); left > 0; left--) {
      const point = any ? random(random(2) === 0 ? 0x3000 : 0x110000) : 0;
      if (point >= 0xD800 && point <= 0xDFFF) continue;
      text += any ? String.fromCodePoint(point) : WORDS[(first + 7 * random(few)) % WORDS.length];
    }
    yield text;
  }
}

function* filesOf(folder) {
  let entries = [];
  try { entries = fs.readdirSync(folder, { withFileTypes: true }); } catch { return; }   // not on this machine
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* filesOf(full);
    else if (entry.isFile() && !/\.(gz|png|bin)$/.test(entry.name)) yield full;
  }
}

/* Every folder gives its share of what those before it left. */
function* real(folders) {
  let left = REAL_BYTES;
  for (const [index, folder] of folders.entries()) {
    const rest = left - left / (folders.length - index);
    for (const file of filesOf(folder)) {
      const text = fs.readFileSync(file).subarray(0, FILE_BYTES).toString().replace(/\uFFFD/g, "");
      for (let at = 0; at < text.length; at += PART) yield text.slice(at, at + PART).toWellFormed();
      if ((left -= Buffer.byteLength(text)) <= rest) break;
    }
  }
}

/* By GPT-2's pattern: contractions in small letters, no limit to a number, newlines like any space. */
const LITERALS = {
  "": [],
  "Hello world": [15496, 995],
  "I'd've said: it's": [40, 1549, 1053, 531, 25, 340, 338],
  "'S 'LL 're": [6, 50, 705, 3069, 705, 260],
  "  two  spaces ": [220, 734, 220, 9029, 220],
  "a\n\n b\r\n": [64, 628, 275, 201, 198],
  "tabs\t\tand 12345 numbers": [8658, 82, 197, 197, 392, 17031, 2231, 3146],
  "3.14159e-10": [18, 13, 1415, 19707, 68, 12, 940],
  "getElementById(x)": [1136, 20180, 48364, 7, 87, 8],
  "==== //--": [1421, 3373, 438],
  "aaaaaaaaaaaaaaaaaaaa": [24794, 24794, 24794, 24794, 24794],
  "na\u00EFve caf\u00E9": [2616, 38776, 40304],
  "\u4E2D\u6587\u5B57": [40792, 23877, 229, 27764, 245],
  "\u{1F600}!": [47249, 222, 0],
};

/* Gathers what is written, so that a file is not written number by number. */
class Output {
  constructor(file) {
    this.file = fs.openSync(file, "w");
    this.buffer = Buffer.alloc(1 << 22);
    this.used = 0;
  }
  room(size) {
    if (this.used + size > this.buffer.length) this.flush();
    return this.used;
  }
  text(text) {
    const bytes = Buffer.from(text), at = this.room(4 + bytes.length);
    this.buffer.writeUInt32LE(bytes.length, at);
    bytes.copy(this.buffer, at + 4);
    this.used += 4 + bytes.length;
  }
  ids(ids) {
    this.room(4 + 4 * ids.length);
    this.used = this.buffer.writeUInt32LE(ids.length, this.used);
    for (const id of ids) this.used = this.buffer.writeUInt32LE(id, this.used);
  }
  flush() {
    fs.writeSync(this.file, this.buffer, 0, this.used);
    this.used = 0;
  }
}

const peerOf = (peers, name) => createRequire(path.resolve(peers, "package.json"))(name);

/* Special tokens are text to Ebb, and other added ones tokens wherever they stand. */
function huggingFace(peers, file) {
  const json = JSON.parse(fs.readFileSync(file, "utf8"));
  json.added_tokens = json.added_tokens.filter((token) => !token.special);
  const { Tokenizer } = peerOf(peers, "@huggingface/tokenizers");
  const tokenizer = new Tokenizer(json, {});
  return { encode_ordinary: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids };
}

/* Code points that are newer than Unicode 14: the classes of Ebb, of PCRE2 and of Node.js are of different versions. */
async function unassigned(peers) {
  const file = path.resolve(peers, "node_modules/@unicode/unicode-14.0.0/General_Category/Unassigned/regex.mjs");
  return (await import(pathToFileURL(file))).default;
}

async function expect(peers, encoding, folder, folders) {
  const [, file] = encoding.split("=");
  const newer = file && await unassigned(peers);
  const oracle = file ? huggingFace(peers, file) : peerOf(peers, "tiktoken").get_encoding(encoding);
  const idsOfText = (kind, text) => (kind === "literals" ? LITERALS[text] : oracle.encode_ordinary(text));
  const kinds = { points: points(), strings: strings(), real: real(folders) };
  if (encoding === "r50k_base") kinds.literals = Object.keys(LITERALS);
  for (const [kind, texts] of Object.entries(kinds)) {
    const input = new Output(path.join(folder, `${kind}.in`));
    const expected = new Output(path.join(folder, `${kind}.expected`));
    let count = 0, bytes = 0;
    for (const text of texts) {
      if (newer?.test(text)) continue;
      count++;
      bytes += Buffer.byteLength(text);
      input.text(text);
      expected.ids(idsOfText(kind, text));
    }
    input.flush();
    expected.flush();
    console.log(`${encoding}: ${kind}, ${count} texts, ${(bytes / 1e6).toFixed(1)} MB`);
  }
}

/* Lines "! RANK TOKEN TOKEN ...", of tokens whose ranks follow each other. */
function writeRanks(peers, encoding, file) {
  const lines = peerOf(peers, `tiktoken/encoders/${encoding}.json`).bpe_ranks.split("\n").filter((line) => line !== "");
  const ranked = lines.flatMap((line) => {
    const [, first, ...tokens] = line.split(" ");
    return tokens.map((token, i) => `${token} ${Number(first) + i}\n`);
  });
  fs.writeFileSync(file, ranked.join(""));
}

function* records(file, width) {
  const bytes = fs.readFileSync(file);
  for (let at = 0; at + 4 <= bytes.length;) {
    const size = width * bytes.readUInt32LE(at);
    yield bytes.subarray(at + 4, at + 4 + size);
    at += 4 + size;
  }
}

const idsOf = (record) => record && [...new Uint32Array(Uint8Array.from(record).buffer)].join(" ");

function compare(folder, kind) {
  const file = (name) => path.join(folder, `${kind}.${name}`);
  if (fs.readFileSync(file("out")).equals(fs.readFileSync(file("expected")))) return;
  const found = records(file("out"), 4), expected = records(file("expected"), 4);
  for (const text of records(file("in"), 1)) {
    const theirs = expected.next().value, ours = found.next().value;
    if (ours?.equals(theirs)) continue;
    console.log(`${JSON.stringify(text.toString())}\n  Ebb      ${idsOf(ours)}\n  tiktoken ${idsOf(theirs)}`);
    break;
  }
  process.exitCode = 1;
}

const [, , command, ...words] = process.argv;
if (command === "expect") await expect(words[0], words[1], words[2], words.slice(3));
else if (command === "ranks") writeRanks(...words);
else compare(...words);
