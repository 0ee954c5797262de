/*
** Writes lower_table.h (see lower.h) from the case mappings of Node's JavaScript:
**
**     node runtime/base/lower_generate.mjs > runtime/base/lower_table.h
**
** A run is {first, last, step, shift}: every step-th code point from first to last has its small letter `shift`
** further on. U+0130 becomes two code points in JavaScript, and stands in lower.c.
*/
const points = [];
for (let point = 0x80; point <= 0x10FFFF; point++) {
  if (point >= 0xD800 && point <= 0xDFFF) continue;
  const small = [...String.fromCodePoint(point).toLowerCase()];
  if (small.length !== 1) continue;
  const shift = small[0].codePointAt(0) - point;
  if (shift !== 0) points.push([point, shift]);
}

const runs = [];
for (const [point, shift] of points) {
  const run = runs.at(-1);
  const gap = run ? point - run.last : 0;
  if (run && run.shift === shift && gap <= 2 && (run.last === run.first || gap === run.step)) {
    run.step = gap;
    run.last = point;
  } else {
    runs.push({ first: point, last: point, step: 1, shift });
  }
}

const hex = (number) => "0x" + number.toString(16).toUpperCase();
const rows = runs.map((run) => `{${hex(run.first)}, ${hex(run.last)}, ${run.step}, ${run.shift}}`);
const lines = [];
for (const row of rows) {
  const line = lines.at(-1);
  if (line !== undefined && line.length + row.length + 2 <= 116) lines[lines.length - 1] = `${line}, ${row}`;
  else lines.push(row);
}
const version = process.versions.unicode;
console.log(`/* Written by lower_generate.mjs from Unicode ${version}: capital letters, by code point. */`);
console.log(lines.map((line) => `  ${line},`).join("\n"));
