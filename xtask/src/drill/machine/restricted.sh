#!/bin/bash
# AppArmor's switch on user namespaces, on as Ubuntu ships it, and a program that has no profile: what its user is told.
# At the end the remedy is carried out as it was told, so that whatever comes after this stands on it.
. /drill/words.sh
. /drill/apparmor.sh
echo 'dev ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/dev
dev mkdir /home/dev/work && cd /home/dev/work || exit 1

# refused WHOSE: as which user, in which form.
refused() {
  who=$1
  out=$(dev cofferdam run --sandbox native -- echo it was run 2>&1)
  say 'a run is refused' "$?" 125
  has 'by AppArmor' "$out" 'AppArmor lets only programs with a profile use user namespaces'
  say 'and nothing is run' "$(echo "$out" | grep -cx 'it was run')" 0
  told=$(echo "$out" | sed -n 's/^remedy: //p')
  told=${told%%; or *}
  out=$(dev cofferdam run -- echo it was run 2>&1)
  say 'auto takes nothing in its place' "$?" 125
  has 'auto says so too' "$out" "; or $told; or "
  has 'auto says what else would do' "$out" 'install Docker; or '
  say 'auto runs nothing' "$(echo "$out" | grep -cx 'it was run')" 0
  out=$(dev cofferdam session start --sandbox native 2>&1)
  say 'a session is refused' "$?" 125
  has 'a session with the same remedy' "$out" "remedy: $told"
  out=$(dev cofferdam doctor)
  say 'doctor finds no backend' "$?" 1
  has 'doctor finds the switch' "$out" 'FAIL  apparmor.userns '
  has 'doctor finds that a namespace is worth nothing' "$out" 'FAIL  namespace.user '
  has 'doctor has the same remedy' "$out" "remedy: $told"
  has 'doctor does not call native usable' "$out" 'native  not usable: '
}

who='Ubuntu'
say 'the switch is on' "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns)" 1
say 'a namespace can be made' "$(dev unshare --user true 2>&1)" ''
has 'and no right in it is given' "$(dev unshare --user --map-root-user true 2>&1)" 'Operation not permitted'
refused 'a user without a profile'
# The profile that a program is put under is not there: so no namespace either.
apparmor_parser -R /etc/apparmor.d/unprivileged_userns
who='Ubuntu without its profile'
has 'no namespace can be made' "$(dev unshare --user true 2>&1)" 'unshare failed: '
refused 'a user who can make no namespace'
apparmor_parser -r /etc/apparmor.d/unprivileged_userns

who='the remedy'
out=$(dev bash -c "$told" 2>&1)
say 'is carried out as it was told' "$?" 0
say 'lets the program run' "$(dev cofferdam run --quiet -- echo it was run 2>&1)" 'it was run'
