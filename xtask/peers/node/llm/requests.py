"""Takes sessions of the reference, with the requests that it sent for them, for the tests of `dsh-llm-deepseek`.

usage: requests.py RUNS OUT

RUNS holds one folder per run: `requests.jsonl` (what the mock server was sent, parsed), `raw/NN.req` (the same requests, byte
for byte) and `sessions/*.jsonl` or `session.jsonl` (the logs). OUT gets `NAME.jsonl`, the log, and `NAME.requests.jsonl`, one body
a line. The reference's own prose (instructions, descriptions of tools, the runtime context) is cut, in the log and in the bodies alike; of the
tools only the first is kept, except in one session. Folders of the machine are renamed.
"""

import json
import pathlib
import sys

# Run, session, whether all tools are kept.
SESSIONS = [
    ("a-first", None, True),
    *(("a-msgs", name, False) for name in [
        "s-two-blocks", "s-empty-content", "s-unknown-block", "s-plugin-notice", "s-user-reasoning", "s-user-toolcall",
        "s-user-toolresult", "s-nul-chars", "s-opt-maxTokens", "s-opt-model-pro",
        "s-history", "s-length-then-next", "s-length-empty-then-next",
    ]),
    *(("b-shapes", name, False) for name in [
        "s-reasoning-text-mixed", "s-two-calls", "s-call-text-call", "s-args-object", "s-dup-ids", "s-no-name",
    ]),
    *(("k2-cancel", name, False) for name in ["s-text", "s-reasoning", "s-reasoning-text-call", "s-batch", "s-ws-text"]),
]
PROSE = 40
TOOLS = 1


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def short(value):
    if isinstance(value, str):
        return value[:PROSE]
    if isinstance(value, list):
        return [short(item) for item in value]
    if isinstance(value, dict):
        return {name: short(item) for name, item in value.items()}
    return value


def cut(holder, whole):
    """Cuts what holds instructions and tools."""
    if isinstance(holder.get("system"), str):
        holder["system"] = short(holder["system"])
    if isinstance(holder.get("tools"), list):
        holder["tools"] = short(holder["tools"] if whole else holder["tools"][:TOOLS])


def without_context(value):
    """Cuts the runtime context, wherever it stands."""
    if isinstance(value, str):
        return value[:PROSE] if value.startswith("Current runtime context") else value
    if isinstance(value, list):
        return [without_context(item) for item in value]
    if isinstance(value, dict):
        return {name: short(item) if name == "sections" else without_context(item) for name, item in value.items()}
    return value


def body_of(raw, whole):
    text = raw.split(b"\r\n\r\n", 1)[1].decode()
    body = json.loads(text)
    if compact(body) != text:
        raise SystemExit("a body is written in another way than this script writes")
    cut(body, whole)
    first = body["messages"][0]
    if first["role"] == "system":
        first["content"] = short(first["content"])
    return compact(without_context(body))


def log_of(path, whole):
    for line in lines_of(path):
        event = json.loads(line)
        if event.get("type") == "request/header":
            cut(event["data"]["header"], whole)
        yield compact(without_context(event))


def lines_of(path):
    """Not `splitlines`, which ends a line at U+2028 too."""
    return path.read_text().rstrip("\n").split("\n")


def main():
    runs, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for run, session, whole in SESSIONS:
        folder = runs / run
        path = folder / "session.jsonl" if session is None else folder / "sessions" / f"{session}.jsonl"
        id = json.loads(lines_of(path)[0])["id"]
        bodies = []
        for line in lines_of(folder / "requests.jsonl"):
            request = json.loads(line)
            is_title = isinstance(request["body"], dict) and request["body"].get("max_tokens") == 64
            if f"x-deepseek-harness-session-id: {id}" in request["headers"] and not is_title:
                bodies.append(body_of((folder / "raw" / f"{request['n']:02}.req").read_bytes(), whole))
        name = f"{run}-{session or 'session'}".replace("-s-", "-")
        texts = {f"{name}.jsonl": log_of(path, whole), f"{name}.requests.jsonl": bodies}
        for file, lines in texts.items():
            text = "".join(f"{line}\n" for line in lines)
            (out / file).write_text(text.replace(str(folder), "/home/user/project").replace(str(runs), "/home/user"))


main()
