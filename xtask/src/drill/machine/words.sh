# How a claim is told, for the scripts that are tried inside. `who` is whose claims they are.
say() { if [ "$2" = "$3" ]; then echo "HELD $who: $1"; else echo "BROKEN $who: $1: $2 instead of $3"; fi; }
# Waits for a process of this name, for as long as an emulator may need: where none comes, the claim breaks and not the drill.
await() { for _ in $(seq 300); do pgrep "$@" > /dev/null && return; sleep 0.2; done; }
has() { case "$2" in *"$3"*) echo "HELD $who: $1" ;; *) echo "BROKEN $who: $1: no '$3' in $(echo "$2" | tail -n 4 | tr '\n' ' ')" ;; esac; }
