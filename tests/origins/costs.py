#!/usr/bin/env python3
"""Costs of replays, from the definitions: what a provider's prompt cache serves of each request, and its price.

    costs.py FILE        JSON lines in, one JSON object out: {"REPLAY": [cost, read, written]}

Input: {"replay": NAME, "rule": RULE, "base": TOKENS} begins a replay, `base` being the tokens of a request without
messages. Its requests follow, in order: {"before": TOKENS, "time": MS, "messages": [[NAME, TOKENS, ROLE] ...] or null};
equal texts have one name.
A request without messages was refused: it costs nothing.

Nothing is read from the request before the last one, but by Anthropic's rule, where a request finds any beginning that
was marked and is still warm: its head (leading system messages), the end of the request before, and ends up to 20
messages before its own end.
"""
import json
import sys

#         minimum, step, lifetime in seconds, price of writing, marks
RULES = {
    "general": (1, 1, 300, 1, False),
    "openai": (1024, 128, 600, 1, False),
    "openai_30m": (1024, 128, 1800, 1.25, False),
    "anthropic": (1024, 1, 300, 1.25, True),
    "anthropic_1h": (1024, 1, 3600, 2, True),
    "gemini": (4096, 1, 300, 1, False),
    "deepseek": (64, 64, 7200, 1, False),
    "none": (float("inf"), 1, 0, 1, False),
}


def size(base, messages):
    return base + sum(tokens for _, tokens, _ in messages)


def in_steps(tokens, minimum, step):
    return int(tokens // step * step) if tokens >= minimum else 0


def common(a, b):
    count = 0
    while count < min(len(a), len(b)) and a[count][0] == b[count][0]:
        count += 1
    return count


def head(messages):
    count = 0
    while count < len(messages) and messages[count][2] == "system":
        count += 1
    return count


class Plain:
    def __init__(self, minimum, step, lifetime, base):
        self.minimum, self.step, self.lifetime, self.base, self.last = minimum, step, lifetime, base, None

    def read(self, messages, now):
        last, self.last = self.last, (messages, now)
        if last is None or now - last[1] > 1000 * self.lifetime:
            return 0
        return in_steps(size(self.base, messages[:common(last[0], messages)]), self.minimum, self.step)


class Marked:
    """Keeps every marked beginning as the list that it is, with the time of its last use."""

    def __init__(self, minimum, lifetime, base):
        self.minimum, self.lifetime, self.base, self.kept, self.last = minimum, lifetime, base, {}, None

    def read(self, messages, now):
        texts = [text for text, _, _ in messages]
        last = common(self.last, messages) if self.last is not None else 0
        best = None
        for length, used in list(self.kept.items()):
            if length > last or now - used > 1000 * self.lifetime:
                del self.kept[length]
            elif length == head(messages) or length == len(self.last) or len(texts) - length <= 20:
                best = length if best is None else max(best, length)
        if self.last is None:
            best = None
        for length in list(self.kept):
            if best is not None and length <= best:
                self.kept[length] = now
        for length in (head(messages), len(messages)):
            if size(self.base, messages[:length]) >= self.minimum:
                self.kept.setdefault(length, now)
        self.last = messages
        return size(self.base, messages[:best]) if best is not None else 0


class Replay:
    def __init__(self, rule, base):
        minimum, step, lifetime, self.write, marked = RULES[rule]
        self.minimum, self.step, self.base = minimum, step, base
        self.cache = Marked(minimum, lifetime, base) if marked else Plain(minimum, step, lifetime, base)
        self.sums = [0.0, 0, 0]

    def add(self, request):
        messages = request["messages"]
        if messages is None:
            return
        read = self.cache.read(messages, request["time"])
        whole = size(self.base, messages)
        written = max(0, in_steps(whole, self.minimum, self.step) - read)
        self.sums[0] += whole - read - written + 0.1 * read + self.write * written
        self.sums[1] += read
        self.sums[2] += written


replays = {}
for line in open(sys.argv[1], encoding="utf-8"):
    value = json.loads(line)
    if "replay" in value:
        current = replays[value["replay"]] = Replay(value["rule"], value["base"])
    else:
        current.add(value)
print(json.dumps({name: replay.sums for name, replay in replays.items()}))
