#!/usr/bin/env bash
# Hosts made of network namespaces on one machine: each has a name, an address and a cable of its own, and its own shared
# memory and folder for temporary files. Needs root, iproute2 and util-linux. Their number PREFIX is also their network:
#
#   hosts.sh make PREFIX COUNT      hosts PREFIXh0, PREFIXh1 ... (PREFIX: a letter and a number below 10,000), joined by a bridge
#   hosts.sh on HOST COMMAND...     runs a command there
#   hosts.sh launch HOST COMMAND    the same for a launcher of shardrun, which passes one text for a shell; fails, as ssh
#                                   would, while the cable is down
#   hosts.sh link HOST up|down      its cable
#   hosts.sh processes HOST         their numbers
#   hosts.sh remove PREFIX COUNT    ends what still runs there, and removes them
set -euo pipefail

network_of() { local number=${1//[!0-9]/}; echo "10.$((100 + number / 250)).$((number % 250))"; }
folder_of() { echo "/tmp/shardscope-hosts/$1"; }

make() {
  local prefix=$1 count=$2 network host
  network=$(network_of "$prefix")
  ip link add "${prefix}br" type bridge
  ip link set "${prefix}br" up
  for ((i = 0; i < count; i++)); do
    host=${prefix}h$i
    ip netns add "$host"
    ip link add "${prefix}c$i" type veth peer name eth0 netns "$host"
    ip link set "${prefix}c$i" master "${prefix}br" up
    ip -n "$host" address add "$network.$((i + 1))/24" dev eth0
    ip -n "$host" link set eth0 up
    ip -n "$host" link set lo up
    mkdir -p "$(folder_of "$host")"
  done
  { echo "127.0.0.1 localhost"; for ((i = 0; i < count; i++)); do echo "$network.$((i + 1)) ${prefix}h$i"; done; } >"$(folder_of "${prefix}")names"
}

on() {
  local host=$1
  shift
  exec ip netns exec "$host" unshare --uts --ipc --mount bash -c '
    mount --make-rprivate /
    mount -t tmpfs tmpfs /dev/shm
    mount --bind "$2names" /etc/hosts
    hostname "$1"
    export TMPDIR=$3
    shift 3
    exec "$@"' hosts.sh "$host" "$(folder_of "${host%%h*}")" "$(folder_of "$host")" "$@"
}

remove() {
  local prefix=$1 count=$2 host process
  for ((i = 0; i < count; i++)); do
    host=${prefix}h$i
    for process in $(ip netns pids "$host" 2>/dev/null); do kill -9 "$process" 2>/dev/null || true; done
    ip link delete "${prefix}c$i" 2>/dev/null || true
    ip netns delete "$host" 2>/dev/null || true
    rm -rf "$(folder_of "$host")"
  done
  ip link delete "${prefix}br" 2>/dev/null || true
  rm -f "$(folder_of "$prefix")names"
}

command=$1
shift
case $command in
  make) make "$@" ;;
  on) on "$@" ;;
  launch)
    host=$1
    shift
    [[ $(ip netns exec "$host" cat /sys/class/net/eth0/operstate) == up ]] || { echo "$host: no route" >&2; exit 255; }
    on "$host" bash -c "exec $*" ;;
  link) ip link set "${1/h/c}" "$2" ;;
  processes) ip netns pids "$1" ;;
  remove) remove "$@" ;;
  *) echo "unknown: $command" >&2; exit 2 ;;
esac
