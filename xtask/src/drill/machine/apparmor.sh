# A user without root, for the scripts about AppArmor, and the label that a process has.
dev() { setpriv --reuid dev --regid dev --init-groups env HOME=/home/dev "$@"; }
LABEL=/proc/self/attr/apparmor/current
