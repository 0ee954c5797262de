/*
** The peer llmtrim, as its command compresses requests: one process for each, as an application would run it.
**
**     node llmtrim.mjs < REQUESTS.jsonl > RESULTS.jsonl
**
** A line of REQUESTS is {"file", "reply", "messages"}; of RESULTS {"preset", "file", "reply", "messages", "ms"}, with
** messages null where llmtrim refused. Its settings and its ledger go to a folder of their own.
*/
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const PRESETS = ["auto", "agent", "aggressive"];
const packages = dirname(dirname(createRequire(import.meta.url).resolve("@llmtrim/cli/package.json")));
const program = join(packages, `${process.platform}-${process.arch}`, "bin", "llmtrim");
const home = mkdtempSync(join(tmpdir(), "llmtrim-"));

function compress(preset, messages) {
  const env = { PATH: process.env.PATH, HOME: home, LLMTRIM_DB_PATH: join(home, "ledger"), LLMTRIM_PRESET: preset,
    LLMTRIM_NO_UPDATE_CHECK: "1" };
  const start = process.hrtime.bigint();
  const run = spawnSync(program, ["compress", "--provider", "openai"],
    { input: JSON.stringify({ model: "gpt-4o", messages }), env, maxBuffer: 1 << 28 });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  return { messages: run.status === 0 ? JSON.parse(run.stdout).messages : null, ms };
}

try {
  for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const { file, reply, messages } = JSON.parse(line);
    for (const preset of PRESETS) {
      console.log(JSON.stringify({ preset, file, reply, ...compress(preset, messages) }));
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
