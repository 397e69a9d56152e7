#!/bin/bash
# A program with the profile that was told: who has it, what it gives and to whom not.
. /drill/words.sh
. /drill/apparmor.sh
cd /home/dev/work || exit 1
ours='cofferdam (unconfined)'
# Of all processes that are the program, or the command of one.
labels() { for pid in $(pgrep -u dev -x 'cofferdam|sleep'); do cat "/proc/$pid/attr/apparmor/current"; done | sort -u; }

who='a profile'
say 'is that of the command' "$(dev cofferdam run --quiet -- cat $LABEL 2>&1)" "$ours"
session=$(dev cofferdam session start 2>&1)
say 'is that of a command in a session' "$(dev cofferdam session exec "$session" -- cat $LABEL 2>&1)" "$ours"
say 'is that of all who hold a session' "$(labels)" "$ours"
dev cofferdam session stop "$session" --quiet
(echo '["--", "sleep", "3"]' && sleep 6) | dev cofferdam drive recorded > /dev/null 2>&1 &
await -u dev -x sleep
say 'is that of a launcher and of what it makes' "$(labels)" "$ours"
wait
# What it gives is there, and the command cannot have it.
say 'gives user namespaces' "$(dev aa-exec -p cofferdam -- unshare --user --map-root-user --mount echo made 2>&1)" made
for how in --user '--user --map-root-user' --mount; do
  out=$(dev cofferdam run --quiet -- unshare $how true 2>&1)
  has "gives a command none: unshare $how" "$out" 'unshare failed: Operation not permitted'
done
has 'gives other programs nothing' "$(dev unshare --user --map-root-user true 2>&1)" 'Operation not permitted'
say 'takes nothing from root' "$(cd /root/work && HOME=/root cofferdam run --quiet -- echo it was run 2>&1)" 'it was run'
other='/home/dev/Übung 1'
dev mkdir "$other" && dev cp /usr/local/bin/cofferdam "$other"
out=$(dev "$other/cofferdam" run --sandbox native -- true 2>&1)
say 'gives nothing at another path' "$?" 125
has 'has a remedy for that path' "$out" "profile cofferdam \"$other/cofferdam\" "
told=$(echo "$out" | sed -n 's/^remedy: //p')
dev bash -c "${told%%; or *}" > /dev/null 2>&1
say 'can be had for that path' "$(dev "$other/cofferdam" run --quiet -- echo it was run 2>&1)" 'it was run'
out=$(dev cofferdam run --sandbox native -- true 2>&1)
say 'is then no longer for the first' "$?" 125
told=$(echo "$out" | sed -n 's/^remedy: //p')
dev bash -c "${told%%; or *}" > /dev/null 2>&1
apparmor_parser -R /etc/apparmor.d/cofferdam
systemctl reload apparmor
say 'comes back with AppArmor, as at a start' "$(dev cofferdam run --quiet -- cat $LABEL 2>&1)" "$ours"

who='a program under a profile that denies'
out=$(dev aa-exec -p unprivileged_userns -- cofferdam run -- echo it was run 2>&1)
say 'runs nothing' "$?:$(echo "$out" | grep -cx 'it was run')" 125:0
has 'is sent to doctor' "$out" 'run `cofferdam doctor`'
out=$(dev aa-exec -p unprivileged_userns -- cofferdam doctor)
has 'is told of the profile' "$out" 'the profile unprivileged_userns (enforce) allows too little'
has 'is told to start elsewhere' "$out" 'remedy: start cofferdam where that profile does not reach'

who='a profile of ours that allows too little'
sed 's/userns,//' /etc/apparmor.d/cofferdam | apparmor_parser -r
out=$(dev cofferdam run --sandbox native -- echo it was run 2>&1)
say 'runs nothing' "$?:$(echo "$out" | grep -cx 'it was run')" 125:0
told=$(dev cofferdam doctor | grep -A 1 'FAIL  apparmor.userns ' | sed -n 's/^ *remedy: //p')
dev bash -c "$told" > /dev/null 2>&1
say 'is written anew by the remedy' "$(dev cofferdam run --quiet -- echo it was run 2>&1)" 'it was run'
