/*
** Text to measure tokenizers with, gathered from what a Debian machine has.
**
**     node corpora.mjs FOLDER CORPUS...     writes FOLDER/CORPUS.txt and FOLDER/CORPUS.note, where they are missing
**
** A corpus holds up to 32 MiB, and no file, line of prose or block of code (what stands between empty lines) twice.
** Files come in the order of a hash of their paths, so that no one library makes up a corpus; each gives up to 512 KB.
** Of two there is too little on most machines. JavaScript is taken from npm packages too; Chinese from the documents in
** packages of Debian, and what is missing to 32 MiB is filled with the same sentences in another order. The note of a
** corpus says what it is made of.
**
** Then there are hard texts, of 1 MiB: runs of one character, digits, letters, any characters at random.
*/
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";

const SIZE = 32 << 20, FILE_BYTES = 512 << 10;
const DEBIAN = ["debian-reference-zh-cn", "debian-reference-zh-tw", "libreoffice-help-zh-cn", "libreoffice-help-zh-tw",
  "manpages-zh"];
const NPM = ["eslint@9.15.0", "monaco-editor@0.52.0", "three@0.170.0", "typescript@5.6.3", "webpack@5.96.1"];

const megabytes = (text) => `${(Buffer.byteLength(text) / 1e6).toFixed(1)} MB`;
const hash = (text) => createHash("sha1").update(text).digest("base64");

function* filesBeneath(folder, fits) {
  let entries = [];
  try { entries = fs.readdirSync(folder, { withFileTypes: true }); } catch { return; }   // not on this machine
  for (const entry of entries) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBeneath(full, fits);
    else if (entry.isFile() && fits.test(full)) yield full;
  }
}

/* The translations in a .mo file. */
function translations(bytes) {
  const count = bytes.readUInt32LE(8), table = bytes.readUInt32LE(16), texts = [];
  for (let i = 1; i < count; i++) {   // the first is a header
    const size = bytes.readUInt32LE(table + 8 * i), at = bytes.readUInt32LE(table + 8 * i + 4);
    texts.push(bytes.toString("utf8", at, at + size).replace(/\0/g, "\n"));
  }
  return texts.join("\n");
}

const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: "\u00A0" };
const plainOfHtml = (text) => text
  .replace(/<(script|style)[^]*?<\/\1>/gi, "").replace(/<\/(p|h\d|li|td|div)>/gi, "\n").replace(/<[^>]*>/g, "")
  .replace(/&(\w+);/g, (all, name) => ENTITIES[name] ?? all);
const plainOfManual = (text) => text.replace(/^[.'].*\n/gm, "").replace(/\\(f[BIRP]|[&%|])/g, "")
  .replace(/\\\(aq|\\\*\(Aq/g, "'").replace(/\\-/g, "-");

function textOf(file) {
  let bytes = fs.readFileSync(file), name = file;
  if (name.endsWith(".gz")) [bytes, name] = [gunzipSync(bytes), name.slice(0, -3)];
  if (name.endsWith(".mo")) return translations(bytes);
  const text = bytes.subarray(0, 4 * FILE_BYTES).toString();
  if (/\.html?$/.test(name)) return plainOfHtml(text);
  return name.includes("/man/") ? plainOfManual(text) : text;
}

const isChinese = (line) => 3 * (line.match(/\p{Script=Han}/gu) ?? []).length > line.length;
const isProse = (line) => (line.match(/[a-z]{2,} /g) ?? []).length >= 3;

const CORPORA = {
  english: {
    roots: ["/usr/share/man", "/usr/share/doc", "/usr/share/perl", "/usr/lib/python3"],
    fits: /\/man\/man\d\/|\.pod$|\/doc\/.*(README|NEWS|\.txt|\.html)(\.gz)?$/,
    lines: isProse,
  },
  chinese: {
    roots: ["/usr/share/locale", "/usr/share/man", "/usr/share/doc"],
    fits: /zh[_-](CN|TW|HK|Hans|Hant).*(\.mo|\.gz|\.html)$/i,
    lines: isChinese,
    packages: DEBIAN,
    fill: true,
  },
  c: { roots: ["/usr/include", "/usr/lib/gcc", "/usr/lib/llvm-14", "/usr/src"], fits: /\.(h|c|hpp|cc)$/ },
  javascript: {
    roots: ["/usr/lib/node_modules", "/usr/share/nodejs", "/usr/share/javascript"],
    fits: /(?<!\.min|\/min\/.*)\.[cm]?js$/,
    packages: NPM,
  },
  json: { roots: ["/usr"], fits: /(?<!\.min)\.json$/ },
};

/* Puts the packages beneath the folder; answers whether it could. */
function fetchPackages(folder, names) {
  const run = (program, ...words) => execFileSync(program, words, { cwd: folder, stdio: "ignore", timeout: 180000 });
  fs.mkdirSync(folder, { recursive: true });
  try {
    if (names === NPM) {
      const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
      run("npm", "install", "--prefix", ".", ...quiet, ...names);
    } else {
      run("apt-get", "-q", "download", ...names);
      for (const file of fs.readdirSync(folder)) if (file.endsWith(".deb")) run("dpkg-deb", "-x", file, ".");
    }
    return true;
  } catch {
    return false;
  }
}

/* What has not been seen, block by block or line by line. */
function fresh(text, lines, seen) {
  const kept = text.split(lines ? /\n+/ : /\n{2,}/).filter((block) => {
    if (lines && !lines(block)) return false;
    const key = hash(block);
    return !seen.has(key) && seen.add(key);
  });
  return kept.join(lines ? "\n" : "\n\n") + "\n";
}

/* Sentences in another order, until there is as much as wanted. */
function filled(text, wanted) {
  const sentences = text.split(/(?<=[。！？；\n])/);
  let all = text;
  for (let turn = 1; Buffer.byteLength(all) < wanted && sentences.length > 1; turn++) {
    const order = sentences.map((sentence, i) => [hash(`${turn} ${i}`), sentence]);
    all += order.sort((a, b) => (a[0] < b[0] ? -1 : 1)).map((pair) => pair[1]).join("");
  }
  return all;
}

function gather(folder, name) {
  const { roots, fits, lines, packages, fill } = CORPORA[name], from = [...roots];
  let note = `from ${roots.join(", ")}`;
  if (packages) {
    const kept = path.join(folder, `${name}-packages`);
    note += fetchPackages(kept, packages) ? `, ${packages.join(", ")}` : " (packages could not be fetched)";
    from.push(kept);
  }
  const files = from.flatMap((root) => [...filesBeneath(root, fits)]).sort((a, b) => (hash(a) < hash(b) ? -1 : 1));
  const seen = new Set(), parts = [];
  for (let size = 0, i = 0; i < files.length && size < SIZE; i++) {
    const part = Buffer.from(fresh(textOf(files[i]), lines, seen)).subarray(0, FILE_BYTES);
    parts.push(part);
    size += part.length;
  }
  let text = Buffer.concat(parts).toString().replace(/\uFFFD/g, "");
  note = `${megabytes(text)} that do not repeat, ${note}`;
  if (fill && Buffer.byteLength(text) < SIZE) {
    text = filled(text, SIZE);
    note += `; filled to ${megabytes(text)} with the same sentences in another order`;
  }
  return { text, note };
}

/* Repeats in every run. */
let state = 1;
const random = (below) => (state = (state * 48271) % 0x7FFFFFFF) % below;
const anyPoint = () => {
  const point = random(0x110000);
  return point >= 0xD800 && point <= 0xDFFF ? "" : String.fromCodePoint(point);
};

const HARD = {
  "one-letter": () => "a",
  "spaces": () => " ",
  "newlines": () => "\n",
  "digits": () => String(random(10)),
  "letters": () => String.fromCharCode(97 + random(26)),
  "characters": anyPoint,
};

function hard(name) {
  let text = "";
  while (Buffer.byteLength(text) < 1 << 20) text += Array.from({ length: 256 }, HARD[name]).join("");
  return { text, note: "made at random" };
}

const [, , folder, ...names] = process.argv;
fs.mkdirSync(folder, { recursive: true });
for (const name of names) {
  const file = path.join(folder, `${name}.txt`);
  if (fs.existsSync(file)) continue;
  const { text, note } = name in HARD ? hard(name) : gather(folder, name);
  fs.writeFileSync(path.join(folder, `${name}.note`), note + "\n");
  fs.writeFileSync(`${file}.part`, text);
  fs.renameSync(`${file}.part`, file);
}
