/*
** Writes nfc_table.c (see nfc.h) from what Node.js itself normalizes by, with Unicode 17 (20.20 has it):
**
**     node runtime/tokens/pretoken/nfc_generate.mjs > runtime/tokens/pretoken/nfc_table.c
**
** Decompositions are those of single characters. A mark is what changes its place beside
** another one, and so the marks' order is found by comparing them.
*/
const PAGE = 128, END = 0x30000, CHANGES = 0x40, HANGUL = 0xAC00, HANGUL_END = 0xD7A4;
const text = (...points) => String.fromCodePoint(...points);
const pointsOf = (string) => [...string].map((c) => c.codePointAt(0));

if (process.versions.unicode !== "17.0") throw new Error("a Node.js with Unicode 17 is expected");

const decompositions = [], compositions = [], seconds = new Set(), values = new Uint8Array(END);
for (let point = 0; point <= 0x10FFFF; point++) {
  if ((point >= 0xD800 && point <= 0xDFFF) || (point >= HANGUL && point < HANGUL_END)) continue;
  const c = text(point), parts = pointsOf(c.normalize("NFD"));
  if (parts.length === 1 && parts[0] === point) continue;
  if (point >= END) throw new Error(`U+${point.toString(16)} is outside of the table`);
  decompositions.push({ point, parts });
  if (c.normalize("NFC") !== c) { values[point] |= CHANGES; continue; }
  const second = parts.at(-1), first = pointsOf(text(...parts.slice(0, -1)).normalize("NFC"));
  if (first.length !== 1) throw new Error(`U+${point.toString(16)} composes of more than two`);
  compositions.push({ first: first[0], second, point });
  seconds.add(second);
}
for (let jamo = 0x1161; jamo < 0x1176; jamo++) seconds.add(jamo);
for (let jamo = 0x11A8; jamo < 0x11C3; jamo++) seconds.add(jamo);
for (const second of seconds) values[second] |= CHANGES;

/* 1 if a mark comes after another in canonical order, -1 if before, 0 if neither moves. */
function compare(a, b) {
  if (a === b) return 0;
  const moved = (x, y) => { const s = text(x, y), n = s.normalize("NFD"); return n !== s && n === text(y, x); };
  return moved(a, b) ? 1 : moved(b, a) ? -1 : 0;
}

/* Of the lowest class and of the highest: each mark moves beside one of them. */
const LOW = 0x0334, HIGH = 0x0345, marks = [];
for (let point = 0; point < END; point++) {
  if (point >= 0xD800 && point <= 0xDFFF) continue;
  if (pointsOf(text(point).normalize("NFD")).length > 1) continue;
  if (compare(point, LOW) !== 0 || compare(point, HIGH) !== 0 || point === LOW || point === HIGH) marks.push(point);
}
const plain = marks.filter((point) => text(point).normalize("NFD") === text(point));
plain.sort((a, b) => compare(a, b) || a - b);
let order = 0;
plain.forEach((point, i) => {
  if (i === 0 || compare(plain[i - 1], point) !== 0) order++;
  values[point] |= order;
});
if (order >= 64) throw new Error(`${order} classes of marks`);
/* Marks that change into one mark have its class; those into several, that of the first, and are never kept. */
for (const { point, parts } of decompositions) values[point] |= values[parts[0]] & 63;

const pages = new Map(), index = [];
for (let start = 0; start < END; start += PAGE) {
  const key = values.subarray(start, start + PAGE).join(", ");
  if (!pages.has(key)) pages.set(key, pages.size);
  index.push(pages.get(key));
}
const rows = (list, per, show = String) => {
  const lines = [];
  for (let i = 0; i < list.length; i += per) lines.push(`  ${list.slice(i, i + per).map(show).join(", ")},`);
  return lines.join("\n");
};
const hex = (n) => `0x${n.toString(16).toUpperCase()}`;

const all = [];
const entries = decompositions.map(({ point, parts }) => {
  const start = all.length;
  all.push(...parts);
  return `{${hex(point)}, ${start}, ${parts.length}}`;
});
compositions.sort((a, b) => a.first - b.first || a.second - b.second);

process.stdout.write(`/*
** Normalization of Unicode 17, made by nfc_generate.mjs; see nfc.h.
*/
#include "tokens/pretoken/nfc.h"

const unsigned char nfc_page[NFC_END / NFC_PAGE] = {
${rows(index, 24)}
};

const unsigned char nfc_of_page[][NFC_PAGE] = {
${[...pages.keys()].map((key) => `  {\n${rows(key.split(", "), 22, (n) => n).replace(/^/gm, "  ")}\n  },`).join("\n")}
};

const NfcDecomposition nfc_decompositions[] = {
${rows(entries, 5)}
};
const uint32_t nfc_decomposition_count = sizeof nfc_decompositions / sizeof *nfc_decompositions;

const uint32_t nfc_points[] = {
${rows(all, 12, hex)}
};

const NfcComposition nfc_compositions[] = {
${rows(compositions, 4, (c) => `{${hex(c.first)}, ${hex(c.second)}, ${hex(c.point)}}`)}
};
const uint32_t nfc_composition_count = sizeof nfc_compositions / sizeof *nfc_compositions;
`);
