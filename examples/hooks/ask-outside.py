#!/usr/bin/env python3
"""PreToolUse, for tools that write files: has somebody asked before one outside of the project is written.

The answer is JSON on standard output, with exit code 0. Only the standard library is needed.

  echo '{"cwd": "/tmp", "tool_input": {"file_path": "/etc/passwd"}}' | examples/hooks/ask-outside.py
"""

import json
import os
import sys


def main() -> None:
    event = json.load(sys.stdin)  # reads to the end
    path = event.get("tool_input", {}).get("file_path")
    if not isinstance(path, str):
        return
    project = os.path.realpath(os.environ.get("CLAUDE_PROJECT_DIR") or event["cwd"])
    # Where it really is: a link inside of the project may lead out of it.
    target = os.path.realpath(os.path.join(event["cwd"], path))
    if os.path.commonpath([project, target]) == project:
        return
    answer = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": f"{target} is outside of {project}",
    }
    json.dump({"hookSpecificOutput": answer}, sys.stdout)


main()
