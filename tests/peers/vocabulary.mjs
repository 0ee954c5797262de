/*
** Import proved on a tokenizer that another tool made: trains byte-level BPE with
** Hugging Face's tokenizers, writes its tokenizer.json and the ids that it gives
** to some texts.
**
**     node vocabulary.mjs OUT TEXT...     OUT/KIND/tokenizer.json, OUT/KIND/ids.json
**
** The kinds differ in what cuts: GPT-2's expression, Llama 3's, Qwen's (digits one
** by one), DeepSeek's (three expressions after each other). Each line of the
** texts is a sample; training reads them all. A trained alphabet has only bytes
** that were seen, so the others are added behind, as every published one has them.
*/
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import tokenizers from "tokenizers";

const { BPE, Tokenizer, byteLevelAlphabet, byteLevelPreTokenizer } = tokenizers;
const MERGES = 5000;

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const llama = (digits) =>
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const split = (regex) => ({ type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false });
const level = (regex) => ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: regex });
const sequence = (...regexes) => ({ type: "Sequence", pretokenizers: [...regexes.map(split), level(false)] });

const KINDS = {
  gpt2: level(true),
  llama3: sequence(llama("\\p{N}{1,3}")),
  qwen2: sequence(llama("\\p{N}")),
  deepseek: sequence(
    "\\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" +
      " ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  ),
};

/* Bytes first, as published ones have them, then the merges' results in their order. */
function complete(json) {
  const vocab = {};
  for (const letter of byteLevelAlphabet().sort()) vocab[letter] = Object.keys(vocab).length;
  json.model.merges = json.model.merges.slice(0, MERGES);
  for (const merge of json.model.merges) {
    const whole = (Array.isArray(merge) ? merge : merge.split(" ")).join("");
    if (!(whole in vocab)) vocab[whole] = Object.keys(vocab).length;
  }
  json.model.vocab = vocab;
  json.added_tokens = [];
  return json;
}

function train(cutter, files) {
  const empty = new Tokenizer(BPE.empty());
  empty.setPreTokenizer(byteLevelPreTokenizer(false));
  const json = JSON.parse(readJson(empty));
  json.pre_tokenizer = cutter;
  const tokenizer = Tokenizer.fromString(JSON.stringify(json));
  tokenizer.train(files);
  return complete(JSON.parse(readJson(tokenizer)));
}

let folder;
function readJson(tokenizer) {
  tokenizer.save(`${folder}/trained.json`);
  return readFileSync(`${folder}/trained.json`, "utf8");
}

const [, , out, ...files] = process.argv;
const samples = files.flatMap((file) => readFileSync(file, "utf8").split("\n"));
for (const [kind, cutter] of Object.entries(KINDS)) {
  folder = `${out}/${kind}`;
  mkdirSync(folder, { recursive: true });
  const text = JSON.stringify(train(cutter, files));
  writeFileSync(`${folder}/tokenizer.json`, text);
  const tokenizer = Tokenizer.fromString(text);
  const ids = [];
  for (const sample of samples) ids.push({ text: sample, ids: (await tokenizer.encode(sample)).getIds() });
  writeFileSync(`${folder}/ids.json`, JSON.stringify(ids));
  console.log(`${kind}: ${JSON.parse(text).model.merges.length} merges, ${samples.length} samples`);
}
