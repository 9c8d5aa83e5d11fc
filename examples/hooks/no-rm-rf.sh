#!/bin/sh
# PreToolUse, for the tool that runs commands: denies those that delete folders without asking (rm -rf, however its options are
# written and wherever they stand). Exit code 2 denies; what is printed as errors is the reason, which the model reads.
#
#   echo '{"tool_input": {"command": "rm -rf /"}}' | examples/hooks/no-rm-rf.sh
#
# A pattern is no parser: this keeps an agent from a slip, not an enemy from deleting. It looks at words, not at what they are
# for: echo "rm -rf x" is denied too.

deny() {
    echo "$1" >&2
    exit 2
}

# All of it is read, also where nothing comes of it: who writes to a program that has ended is told of a broken pipe.
input=$(cat)

# Only a reader of JSON can tell what the command is. Without one nothing is let go on.
if command -v jq > /dev/null 2>&1; then
    command=$(printf '%s' "$input" | jq -er '.tool_input.command | strings' 2> /dev/null)
elif command -v python3 > /dev/null 2>&1; then
    command=$(printf '%s' "$input" | python3 -c '
import json, sys
command = json.load(sys.stdin)["tool_input"]["command"]
sys.stdout.write(command + "\n") if isinstance(command, str) else sys.exit(1)' 2> /dev/null)
else
    deny 'no-rm-rf.sh needs jq or python3 to read the command, so it cannot be judged: ask the user to install one'
fi || deny 'no-rm-rf.sh cannot read the command, so it is not run: give it as the text "command"'

# One line for each simple command, without quotes and backslashes. A line that goes on in the next one is one.
simple=$(printf '%s\n' "$command" | sed -e ':a' -e '/\\$/{N;s/\\\n/ /;ba' -e '}' | tr ';&|()`' '\n' | tr -d "\"'\\\\")

option='[[:space:]]-'
recursive="$option([a-zA-Z]*[rR][a-zA-Z]*|-recursive)([[:space:]]|\$)"
force="$option([a-zA-Z]*f[a-zA-Z]*|-force)([[:space:]]|\$)"
if printf '%s\n' "$simple" | grep -E '(^|[[:space:]/])rm[[:space:]]' | grep -E "$recursive" | grep -Eq "$force"; then
    deny 'rm -rf is not for agents: name the files, or move them to a folder that the user can look at'
fi
exit 0
