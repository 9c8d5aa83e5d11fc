#!/bin/sh
# PostToolUse, for tools that write files: tells the model, after the result of the call, that the file has tests to run.
#
#   echo '{"tool_input": {"file_path": "src/a.rs"}}' | examples/hooks/remind-of-tests.sh

input=$(cat)

case $input in
*'"file_path":"'*.rs'"'*)
    cat <<'END'
{"hookSpecificOutput": {"hookEventName": "PostToolUse",
 "additionalContext": "A source file was changed: run `cargo test` before you say that you are done."}}
END
    ;;
esac
