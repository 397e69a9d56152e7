#!/bin/bash
# What is tried inside the machine. Each line that begins with HELD or BROKEN is one claim; END says that all were tried.
dmesg -n 1
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin

# Claims that nobody came to make have not held.
all_of() { "$@" || echo "BROKEN $1: did not come to its end"; }

echo "127.0.0.1 localhost machine" > /etc/hosts
HOME=/root all_of /drill/claims.sh root
useradd -m dev
useradd -m nobodys
loginctl enable-linger dev
until [ -S "/run/user/$(id -u dev)/bus" ]; do sleep 0.5; done
all_of /drill/restricted.sh
# As a job does that root starts for a user, and as a login does.
all_of setpriv --reuid dev --regid dev --init-groups env HOME=/home/dev /drill/claims.sh 'a user in a service'
all_of su - dev -c "/drill/claims.sh 'a user who logged in'"
all_of /drill/profiled.sh
out=$(mkdir /home/nobodys/work && cd /home/nobodys/work && chown nobodys: . &&
  setpriv --reuid nobodys --regid nobodys --init-groups env HOME=/home/nobodys cofferdam run -- true 2>&1)
case "$?:$out" in
  125:*loginctl*) echo "HELD a user without a manager: is refused, with a remedy" ;;
  *) echo "BROKEN a user without a manager: $out" ;;
esac
echo END
systemctl poweroff --force
