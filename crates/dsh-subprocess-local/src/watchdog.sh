# Kills the process groups of a host that is gone. Its input comes from the host, which alone holds the other end: `+ID` a
# group began, `=ID` its leader has ended and the group has not, `-ID` it is gone, `/FOLDER` is the host's and goes with it,
# `.` nothing is left to be done.
# $1 is what marks the environment of each process of the host.
trap '' HUP INT QUIT TERM PIPE TSTP
led=' '
left=' '
folder=
while IFS= read -r line; do
    case $line in
        .) exit 0 ;;
        /*) folder=$line; continue ;;
    esac
    id=${line#?}
    case $led in *" $id "*) led="${led%%" $id "*} ${led#*" $id "}" ;; esac
    case $left in *" $id "*) left="${left%%" $id "*} ${left#*" $id "}" ;; esac
    case $line in
        +*) led="$led$id " ;;
        =*) left="$left$id " ;;
    esac
done
for id in $led; do
    kill -s KILL -- "-$id"
done
for id in $left; do
    # A process with the id of a group whose leader has ended is a stranger, and so is its group.
    kill -s 0 -- "$id" || kill -s KILL -- "-$id"
done
# What left its group, and what was started as the host died.
if [ -r /proc/self/environ ]; then
    for pause in 0.1 0.4 0; do
        for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
            id=${file#/proc/}
            id=${id%/environ}
            # If it leads a group, that has its id, and is ours too.
            kill -s KILL -- "-$id"
            kill -s KILL -- "$id"
        done
        sleep "$pause"
    done
fi
[ -z "$folder" ] || rm -rf -- "$folder"
