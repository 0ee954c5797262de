#!/usr/bin/env python3
"""Recall: what the next reply used of what had been said, and whether the request still held it.

    recall.py [FILE...]         files of replays; none: stdin. --misses lists what was lost, --json prints one object

Input: JSON lines. Each replay begins with its recording, and its requests follow:

    {"recording": NAME, "messages": [...]}                          the whole conversation, as recorded
    {"reply": 7, "over": true, "messages": [...]}                   a request as sent; `messages` null: refused

`reply` is the position (from 0) of the assistant message that answered the request. `over`: all messages before it
would not have fitted the budget; requests without it are not measured. Messages have the form of OpenAI's Chat
Completions or of Anthropic's Messages; a member `system` of Anthropic's stands as a first message of role system.

Definitions:
    texts       of a message: its content or text parts, the contents of tool results, the arguments of calls as JSON
    argument    a leaf (string or number, as written, three characters or more) of the JSON arguments of the reply
    value       in the reply's text: a maximal run of letters, digits and _ . / @ : # -, of three characters or more
                without . : - at both ends, which has a digit or one of / _ @ . in it
    said        it stands, character for character, in a text before the reply. Only these count
    recalled    it stands in a text of the request
    label       of an occurrence in a text: the nearest run of letters and _ before it, runs with digits skipped, at
                most 400 characters away; of a run with Chinese, its last two characters
    labelled    one occurrence in the request has a label that an occurrence before the reply had; or no occurrence
                before the reply has any label. Over arguments and values together

Each distinct argument and each distinct value of a reply counts once; those of a refused request are lost, unless
--sent leaves refused requests out (what the guards hold alone exceeds the budget, whatever the policy). Figures are
sums over all requests of a replay, and at the end over all replays: argument recall, value recall, labelled.
"""
import json
import re
import sys

RUN = re.compile(r"(?:[^\W_]|[_./@:#-])+")
WORD = re.compile(r"\w+")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
LABEL_REACH = 400
SENT_ONLY = "--sent" in sys.argv


class Number(str):
    """A number as it was written."""


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def leaves(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str) and len(value) >= 3:
        yield str(value)


def written(value):
    """JSON text of a value whose numbers are Number."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(json.dumps(k, ensure_ascii=False) + ": " + written(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def content_texts(content):
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            yield part
        elif part.get("type") in ("text", "input_text", "output_text"):
            yield part.get("text") or ""
        elif part.get("type") == "tool_result":
            yield from content_texts(part.get("content"))


def call_arguments(message):
    """(JSON text, value) of each call; value None where the text is not JSON."""
    calls = [call.get("function") or {} for call in message.get("tool_calls") or []]
    if message.get("function_call"):
        calls.append(message["function_call"])
    for call in calls:
        text = call.get("arguments") or ""
        try:
            yield text, parse(text)
        except ValueError:
            yield text, None
    for part in message["content"] if isinstance(message.get("content"), list) else []:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield written(part.get("input")), part.get("input")


def texts_of(message):
    yield from content_texts(message.get("content"))
    for text, _ in call_arguments(message):
        yield text


def arguments_of(message):
    return {leaf for _, value in call_arguments(message) for leaf in leaves(value)}


def values_of(message):
    found = set()
    for text in content_texts(message.get("content")):
        for run in RUN.findall(text):
            run = run.strip(".:-")
            if len(run) >= 3 and re.search(r"\d|[/_@.]", run):
                found.add(run)
    return found


def label_at(text, start):
    words = WORD.findall(text[max(0, start - LABEL_REACH):start])
    for word in reversed(words):
        if not any(c.isdigit() for c in word):
            return word[-2:] if CJK.search(word) else word
    return None


def labels_in(value, texts):
    for text in texts:
        start = text.find(value)
        while start >= 0:
            yield label_at(text, start)
            start = text.find(value, start + 1)


class Said:
    """Labels that values have in the texts of a growing history; each text is searched once per value."""

    def __init__(self):
        self.texts, self.labels, self.next = [], {}, {}

    def labels_of(self, value):
        """None if the value does not stand in the texts."""
        fresh = self.texts[self.next.get(value, 0):]
        self.next[value] = len(self.texts)
        new = set(labels_in(value, fresh))
        if new or value in self.labels:
            self.labels.setdefault(value, set()).update(new)
        return self.labels.get(value)


class Figures:
    def __init__(self):
        self.sums = dict.fromkeys(("requests", "refused", "arguments", "arguments_recalled", "values",
                                   "values_recalled", "labelled"), 0)

    def add(self, kind, recalled, labelled):
        self.sums[kind] += 1
        self.sums[kind + "_recalled"] += recalled
        self.sums["labelled"] += labelled

    def shares(self):
        s = self.sums
        both = s["arguments"] + s["values"]
        share = lambda part, whole: part / whole if whole else None
        return {**s, "argument_recall": share(s["arguments_recalled"], s["arguments"]),
                "value_recall": share(s["values_recalled"], s["values"]), "labelled_share": share(s["labelled"], both)}


def judge(value, said, texts):
    """(recalled, labelled) of a value whose labels before the reply are `said`."""
    recalled = False
    for label in labels_in(value, texts):
        recalled = True
        if label in said or said == {None}:
            return True, True
    return recalled, False


def measure(recording, requests, figures, misses):
    said, at = Said(), 0
    for request in requests:
        while at < request["reply"]:
            said.texts.extend(texts_of(recording[at]))
            at += 1
        if not request.get("over"):
            continue
        sent = request.get("messages")
        if sent is None and SENT_ONLY:
            continue
        texts = [text for message in sent or [] for text in texts_of(message)]
        for each in figures:
            each.sums["requests"] += 1
            each.sums["refused"] += sent is None
        reply = recording[request["reply"]]
        for kind, found in (("arguments", arguments_of(reply)), ("values", values_of(reply))):
            for value in sorted(found):
                labels = said.labels_of(value)
                if labels is None:
                    continue
                recalled, labelled = judge(value, labels, texts)
                for each in figures:
                    each.add(kind, recalled, labelled)
                if not labelled:
                    misses.append((request["reply"], kind, "unlabelled" if recalled else "lost", value,
                                   sorted(map(str, labels))[:8]))


def replays(lines):
    recording = None
    for line in lines:
        if not line.strip():
            continue
        entry = parse(line)
        if "recording" in entry:
            if recording:
                yield recording, requests
            recording, requests = entry, []
        else:
            entry["reply"] = int(entry["reply"])
            requests.append(entry)
    if recording:
        yield recording, requests


def show(name, shares):
    def three(value):
        return "    -" if value is None else f"{value:.3f}"
    print(f"{name:42} {shares['requests']:4} {shares['refused']:4}  arguments {three(shares['argument_recall'])} "
          f"of {shares['arguments']:5}  values {three(shares['value_recall'])} of {shares['values']:5}  "
          f"labelled {three(shares['labelled_share'])}")


def main(arguments):
    files = [a for a in arguments if not a.startswith("--")]
    lines = (line for f in files for line in open(f, encoding="utf-8")) if files else sys.stdin
    together, results = Figures(), []
    for recording, requests in replays(lines):
        figures, misses = Figures(), []
        measure(recording["messages"], requests, (figures, together), misses)
        results.append({"recording": recording["recording"], **figures.shares()})
        if "--json" not in arguments:
            show(recording["recording"], figures.shares())
        if "--misses" in arguments:
            for miss in misses:
                print("   ", *miss)
    if "--json" in arguments:
        print(json.dumps({"replays": results, "together": together.shares()}, indent=1))
    else:
        show("together", together.shares())


if __name__ == "__main__":
    main(sys.argv[1:])
