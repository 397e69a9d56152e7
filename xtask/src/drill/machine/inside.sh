#!/bin/bash
# What is tried inside the machine. Each line that begins with HELD or BROKEN is one claim; END says that all were tried.
dmesg -n 1
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin

cat > /usr/local/bin/claims <<'CLAIMS'
#!/bin/bash
# claims WHO: all that must hold for whoever runs this.
who=$1
say() { if [ "$2" = "$3" ]; then echo "HELD $who: $1"; else echo "BROKEN $who: $1: $2 instead of $3"; fi; }
has() { case "$2" in *"$3"*) echo "HELD $who: $1" ;; *) echo "BROKEN $who: $1: no '$3' in $(echo "$2" | tail -n 4 | tr '\n' ' ')" ;; esac; }

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
session=$(cofferdam session start 2>&1)
out=$(cofferdam session exec "$session" -- echo in session 2>&1)
say 'a session runs commands' "$out" 'in session'
cofferdam session stop "$session" --quiet
has 'doctor calls native usable' "$(cofferdam doctor)" 'native  usable: a sandbox could be made'
cofferdam run --quiet -- sleep 1000 &
until pgrep -x sleep > /dev/null; do sleep 0.2; done
kill -9 $!
wait $! 2> /dev/null
cofferdam gc > /dev/null
for _ in $(seq 50); do
  left=$(find /sys/fs/cgroup -name 'cofferdam*' 2> /dev/null; pgrep -x sleep)
  [ -z "$left" ] && break
  sleep 0.2
done
say 'a kill leaves nothing' "$left" ''
CLAIMS
chmod 755 /usr/local/bin/claims

echo "127.0.0.1 localhost machine" > /etc/hosts
HOME=/root claims root
useradd -m dev
useradd -m nobodys
loginctl enable-linger dev
until [ -S "/run/user/$(id -u dev)/bus" ]; do sleep 0.5; done
# As a job does that root starts for a user, and as a login does.
setpriv --reuid dev --regid dev --init-groups env HOME=/home/dev claims 'a user in a service'
su - dev -c "claims 'a user who logged in'"
out=$(mkdir /home/nobodys/work && cd /home/nobodys/work && chown nobodys: . &&
  setpriv --reuid nobodys --regid nobodys --init-groups env HOME=/home/nobodys cofferdam run -- true 2>&1)
case "$?:$out" in
  125:*loginctl*) echo "HELD a user without a manager: is refused, with a remedy" ;;
  *) echo "BROKEN a user without a manager: $out" ;;
esac
echo END
systemctl poweroff --force
