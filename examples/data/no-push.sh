#!/bin/sh
# PreToolUse, for the tool that runs commands: denies `git push`. Exit code 2 denies; what is printed as errors is the reason.
case $(cat) in
*'git push'*)
    echo 'pushing is for the user to do: say that the work is ready' >&2
    exit 2
    ;;
esac
