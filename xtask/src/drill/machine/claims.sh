#!/bin/bash
# claims.sh WHO: all that must hold for whoever runs this.
who=$1
. /drill/words.sh

mkdir -p ~/work && cd ~/work || exit 1
out=$(cofferdam run --quiet -- sh -c 'echo "inside as $(id -u)"; exit 7' 2>&1); code=$?
say 'a run has its exit code' "$code" 7
has 'a run has its output' "$out" 'inside as '
out=$(cofferdam show --receipt 2>&1)
for limit in memory.max memory.swap.max cpu.max pids.max; do has "$limit is in force" "$out" "cgroup v2 $limit"; done
out=$(cofferdam run --memory 64m -- python3 -c 'x = bytearray(300 << 20)' 2>&1); code=$?
say 'too much memory ends it' "$code" 137
has 'and is called that' "$out" 'ran out of memory'
out=$(cofferdam run --pids 20 -- sh -c 'for i in $(seq 40); do sleep 1 & done; wait' 2>&1)
has 'too many processes are not had' "$out" 'Cannot fork'
out=$(cofferdam run --quiet --cpus 0.2 -- python3 -c '
import time
began, used = time.time(), time.process_time()
while time.time() - began < 4: pass
print("less" if time.process_time() - used < 1.6 else "more")' 2>&1)
say 'a fifth of a processor is no more' "$out" less
# Somebody guards the caller's terminal meanwhile, and must not be in the way of the limits.
out=$(script -qec 'cofferdam run --quiet --tty -- sh -c "test -t 0 && echo on a terminal"' /dev/null 2>&1)
has 'a run on a terminal' "$out" 'on a terminal'
session=$(cofferdam session start 2>&1)
out=$(cofferdam session exec "$session" -- echo in session 2>&1)
say 'a session runs commands' "$out" 'in session'
cofferdam session stop "$session" --quiet
has 'doctor calls native usable' "$(cofferdam doctor)" 'native  usable: a sandbox could be made'
cofferdam run --quiet -- sleep 1000 &
await -x sleep
say 'a run can be killed' "$(pgrep -c -x sleep)" 1
kill -9 $!
wait $! 2> /dev/null
cofferdam gc > /dev/null
for _ in $(seq 50); do
  left=$(find /sys/fs/cgroup -name 'cofferdam*' 2> /dev/null; pgrep -x sleep)
  [ -z "$left" ] && break
  sleep 0.2
done
say 'a kill leaves nothing' "$left" ''
