#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Init of the guest. Prints what it does; its last line, "interop: PASSED" or "interop: FAILED ...", is the verdict.
export PATH=/bin:/sbin
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
while read -r module; do insmod "$module"; done < /modules.list
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
. /settings # PORT, PORT2, NQN; OTHERS_PORT, ONE, OTHER
HOST="-q nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555 -I 11111111-2222-3333-4444-555555555555"
AT="-t tcp -a 10.0.2.2 -s $PORT $HOST"

fail() {
    dmesg | tail -30
    for controller in /sys/class/nvme/nvme*; do echo "${controller##*/} is $(cat "$controller/state")"; done
    ps | grep -v '\[' | tail -20
    for mark in error again pairs.rounds blocks.rounds; do echo "$mark: $(cat /tmp/$mark 2> /dev/null)"; done
    echo "interop: FAILED $*"
    poweroff -f
}

# kv OPCODE DWORDS...: a Key Value command with the key "abcd" (CDW2, CDW11).
kv() {
    opcode=$1; shift
    nvme io-passthru /dev/$KV -n 1 -o "$opcode" --cdw2=0x64636261 --cdw11=4 "$@"
}

# ours COMMAND...: our own program on the same device.
ours() {
    saker "$@" --quiet 2> /tmp/error
}

# Sets KV and BLOCK to the names (such as ng0n1) of namespaces 1 and 2: the kernel numbers them as it finds them.
wait_for_devices() {
    KV=; BLOCK=; tries=0
    while [ -z "$KV" ] || [ -z "$BLOCK" ]; do
        for node in /dev/ng*; do
            case $(nvme get-ns-id "$node" 2> /dev/null) in
                *namespace-id:1) KV=${node#/dev/} ;;
                *namespace-id:2) BLOCK=${node#/dev/} ;;
            esac
        done
        tries=$((tries + 1)); [ $tries -gt 300 ] && fail "no devices of the namespaces"
        sleep 0.1
    done
}

# by_nvme_cli SIZES: the five commands.
by_nvme_cli() {
    for bytes in $1; do
        head -c $bytes /dev/urandom > /tmp/in
        kv 0x01 --write --cdw10=$bytes -l $bytes -i /tmp/in > /dev/null 2>&1 || fail "store $bytes"
        kv 0x02 --read --cdw10=$bytes -l $bytes -b > /tmp/out 2> /dev/null || fail "retrieve $bytes"
        cmp /tmp/in /tmp/out || fail "$bytes bytes came back changed"
    done
    kv 0x14 > /dev/null 2>&1 || fail "exist"
    nvme io-passthru /dev/$KV -n 1 -o 0x06 --read --cdw10=64 -l 64 -b > /tmp/list 2> /dev/null || fail "list"
    # NRK 1, KL 4, "abcd".
    printf '\001\000\000\000\004\000abcd' > /tmp/expected
    head -c 10 /tmp/list | cmp - /tmp/expected || fail "the list is wrong"
    kv 0x10 > /dev/null 2>&1 || fail "delete"
    kv 0x14 > /tmp/gone 2>&1 && grep -qi "success" /tmp/gone && fail "a deleted key exists"
}

# by_saker IO SIZES: store, retrieve, exist, list, delete through the kernel by our own program.
by_saker() {
    device="/dev/$KV?io=$1"
    for bytes in $2; do
        head -c "$bytes" /dev/urandom > /tmp/in
        ours put --device "$device" "key-$bytes" @/tmp/in || fail "put $bytes by $1"
        ours get --device "$device" "key-$bytes" --output /tmp/out || fail "get $bytes by $1"
        cmp /tmp/in /tmp/out || fail "$bytes bytes came back changed by $1"
    done
    count=0
    for bytes in $2; do count=$((count + 1)); done
    ours exists --device "$device" "key-1" > /dev/null || fail "exists by $1"
    [ "$(ours list --device "$device" | wc -l)" = $count ] || fail "list by $1"
    for bytes in $2; do ours delete --device "$device" "key-$bytes" || fail "delete by $1"; done
    ours exists --device "$device" "key-1" > /dev/null && fail "a deleted key exists by $1"
}

# The block namespace of the same target, read back past the page cache, through our program and as a disk.
blocks() {
    head -c 65536 /dev/urandom > /tmp/in
    ours block write --device "/dev/$BLOCK" 16 /tmp/in || fail "block write"
    dd if="/dev/nvme${BLOCK#ng}" of=/tmp/out bs=4096 skip=16 count=16 2> /dev/null || fail "the disk cannot be read"
    cmp /tmp/in /tmp/out || fail "the disk has other blocks"
}

# The target dies without warning and comes back; the kernel connects again, and what was stored is there.
survive() {
    head -c 100000 /dev/urandom > /tmp/kept
    ours put --device "/dev/$KV" kept @/tmp/kept || fail "put before the kill"
    echo "interop: kill the target"
    tries=0
    until [ "$(cat /sys/class/nvme/nvme0/state)" != live ]; do
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "the kernel has not noticed"
        sleep 0.1
    done
    ours get --device "/dev/$KV?reconnect=120" kept --output /tmp/out || fail "get after the kill"
    cmp /tmp/kept /tmp/out || fail "the kill has changed a value"
    ours delete --device "/dev/$KV?reconnect=120" kept || fail "delete after the kill"
    echo "interop: the target was killed and came back"
}

# Two ways to one subsystem, each through a relay in this guest that can be killed: RELAY_PORT is the target's port plus 0 or 1.
relay_on() {
    nc -ll -p "$1" -e /bin/nc 10.0.2.2 "$2" &
    eval "RELAY_$1=$!"
    tries=0
    # Its line in the tables of sockets, in state 0A: it listens.
    until cat /proc/net/tcp* | grep -q "$(printf ':%04X 0*:0000 0A' "$1")"; do
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "the relay of $1 does not listen"
        sleep 0.1
    done
}

# The relays of one way: the one that listens, then one for each connection, which are its children.
relays_of() {
    eval "listener=\$RELAY_$1"
    echo "$listener"
    for status in /proc/[0-9]*/status; do
        grep -q "^PPid:.$listener\$" "$status" 2> /dev/null && { id=${status#/proc/}; echo "${id%/status}"; }
    done
}

# relay_signal SIGNAL PORT: kills or freezes one way. Who is killed holds its port until it has run once more, so one waits for that.
relay_signal() {
    relays=$(relays_of "$2")
    for id in $relays; do kill "-$1" "$id" 2> /dev/null; done
    [ "$1" = KILL ] || return 0
    for id in $relays; do
        while ls "/proc/$id/fd" 2> /dev/null | grep -q .; do sleep 0.05; done
    done
}

# The controllers of NQN in a state, such as live.
controllers() {
    for controller in /sys/class/nvme/nvme*; do
        [ "$(cat "$controller/subsysnqn" 2> /dev/null)" = "$NQN" ] && [ "$(cat "$controller/state")" = "$1" ] \
            && echo "${controller##*/}"
    done
}

# wait_for COUNT STATE SECONDS: until so many controllers of NQN are in a state.
wait_for() {
    tries=0
    until [ "$(controllers "$2" | wc -l)" = "$1" ]; do
        tries=$((tries + 1)); [ $tries -gt $(($3 * 5)) ] && fail "not $1 controllers are $2"
        sleep 0.2
    done
}

# wait_for_optimized COUNT: until so many ways to namespaces are there, all optimized. A controller is live before the kernel
# has looked for its namespaces.
wait_for_optimized() {
    tries=0
    until [ "$(cat /sys/class/nvme/nvme*/nvme*c*n*/ana_state 2> /dev/null | sort | uniq -c | awk '{ print $1, $2 }')" = "$1 optimized" ]; do
        tries=$((tries + 1))
        [ $tries -gt 150 ] && fail "not $1 ways are optimized: $(cat /sys/class/nvme/nvme*/nvme*c*n*/ana_state)"
        sleep 0.2
    done
}

# Pairs by our own program, all written anew and read back in each round, until /tmp/stop is there. A write whose answer was
# lost with a way is written again.
load_pairs() {
    round=0; again=0
    until [ -e /tmp/stop ]; do
        round=$((round + 1))
        awk -v r=$round 'BEGIN { for (n = 0; n < 500; n++) { v = r "-" n; while (length(v) < 300) v = v "." n * r; printf "pair%05d\t%s\n", n, v } }' > /tmp/pairs.tsv
        until ours load --device "/dev/$KV?reconnect=120" /tmp/pairs.tsv > /dev/null; do
            cp /tmp/error /tmp/again; again=$((again + 1)); [ $again -gt 200 ] && { echo "load: $(cat /tmp/again)" > /tmp/wrong; return; }
            sleep 0.2
        done
        # It reads in groups, which the kernel does not repeat either.
        until ours dump --device "/dev/$KV?reconnect=120" /tmp/dump.tsv > /dev/null; do
            cp /tmp/error /tmp/again; again=$((again + 1)); [ $again -gt 200 ] && { echo "dump: $(cat /tmp/again)" > /tmp/wrong; return; }
            sleep 0.2
        done
        sort /tmp/pairs.tsv > /tmp/written; sort /tmp/dump.tsv > /tmp/found
        cmp /tmp/written /tmp/found > /dev/null 2>&1 || {
            echo "pairs of round $round differ: $(diff /tmp/written /tmp/found | grep '^[-+]' | cut -c1-60 | head -20)" > /tmp/wrong
            return
        }
        echo "$round $again" > /tmp/pairs.rounds
    done
}

# Blocks through the disk of both ways; the kernel repeats by itself what a lost way has not answered, so no write may fail.
load_blocks() {
    round=0
    until [ -e /tmp/stop2 ]; do
        head -c 65536 /dev/urandom > /tmp/chunk
        dd if=/tmp/chunk of="/dev/$DISK" bs=65536 seek=$((round % 64)) conv=notrunc,fsync 2> /tmp/dd.error \
            || { echo "block write: $(cat /tmp/dd.error)" > /tmp/wrong; return; }
        cp /tmp/chunk "/tmp/chunks/$((round % 64))"
        round=$((round + 1))
        echo "$round" > /tmp/blocks.rounds
    done
}

# goes_on NAME: the load has done something, and done it right, since it was last asked for.
goes_on() {
    tries=0; before=$(cat "/tmp/$1.rounds" 2> /dev/null)
    until [ "$(cat "/tmp/$1.rounds" 2> /dev/null)" != "$before" ]; do
        [ -e /tmp/wrong ] && fail "$(cat /tmp/wrong)"
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "the load of $1 stands still"
        sleep 0.2
    done
}

# Native multipath: ways are killed and frozen under load, and come back.
multipath() {
    relay_on 4500 "$PORT"; relay_on 4501 "$PORT2"
    for port in 4500 4501; do
        # shellcheck disable=SC2086
        nvme connect -t tcp -a 127.0.0.1 -s $port $HOST -n "$NQN" -c 1 -l 600 -k 5 || fail "connect by $port"
    done
    wait_for 2 live 30
    wait_for_devices
    DISK=nvme${BLOCK#ng}
    dmesg | grep -i "duplicate\|IDs don't match\|invalid MNAN" && fail "the kernel takes the ways for two subsystems"
    wait_for_optimized 4
    echo "interop: two controllers share $KV and $DISK"
    logs
    mkdir -p /tmp/chunks
    rm -f /tmp/stop /tmp/stop2 /tmp/wrong
    load_pairs & pairs=$!
    load_blocks & blocks=$!
    goes_on pairs; goes_on blocks
    for port in 4500 4501; do
        relay_signal KILL $port
        wait_for 1 live 60
        goes_on pairs; goes_on blocks; goes_on pairs; goes_on blocks
        echo "interop: the way by $port was killed under load, which goes on ($(cat /tmp/pairs.rounds), $(cat /tmp/blocks.rounds) rounds)"
        relay_on $port "$([ $port = 4500 ] && echo "$PORT" || echo "$PORT2")"
        wait_for 2 live 60
        echo "interop: the way by $port is back"
    done
    # A way that swallows everything without a word: only keep alive timers notice.
    relay_signal STOP 4500
    wait_for 1 live 120
    goes_on pairs; goes_on blocks; goes_on pairs; goes_on blocks
    relay_signal KILL 4500
    relay_on 4500 "$PORT"
    wait_for 2 live 120
    echo "interop: a way was frozen under load, which went on, and came back"
    touch /tmp/stop /tmp/stop2
    wait $pairs; wait $blocks
    [ -e /tmp/wrong ] && fail "$(cat /tmp/wrong)"
    echo 3 > /proc/sys/vm/drop_caches
    for chunk in /tmp/chunks/*; do
        dd if="/dev/$DISK" of=/tmp/out bs=65536 skip="${chunk##*/}" count=1 2> /dev/null || fail "chunk ${chunk##*/} cannot be read"
        cmp "$chunk" /tmp/out || fail "chunk ${chunk##*/} is another one"
    done
    echo "interop: nothing is lost: pairs in $(cut -d' ' -f1 /tmp/pairs.rounds) rounds ($(cut -d' ' -f2 /tmp/pairs.rounds) repeated), blocks in $(cat /tmp/blocks.rounds)"
    nvme disconnect -n "$NQN" || fail "disconnect"
    relay_signal KILL 4500; relay_signal KILL 4501
}

# seen COMMAND PATTERN...: `nvme COMMAND` succeeds, and tells what the patterns say (blanks stand for any white space).
seen() {
    command=$1; shift
    # shellcheck disable=SC2086
    nvme $command > /tmp/out 2>&1 || fail "$command: $(cat /tmp/out)"
    tr -s ' \t' ' ' < /tmp/out > /tmp/plain
    for pattern in "$@"; do
        grep -qi -e "$pattern" /tmp/plain || fail "$command does not say '$pattern': $(head -60 /tmp/plain)"
    done
}

# What administrators look at.
logs() {
    for controller in $(controllers live); do
        seen "id-ctrl /dev/$controller" "^cmic : 0xb" "^anacap : 71" "^anagrpmax : 1" "^nanagrpid : 1" "^mnan : 1024"
        seen "ana-log /dev/$controller" "^ngrps : 1" "^grpid : 1" "^nnsids : 2" "^state : optimized"
        nsids=$(nvme get-log "/dev/$controller" --log-id=12 --log-len=56 -b 2> /dev/null | od -An -tu4 -j48 | tr -s ' ')
        [ "$nsids" = " 1 2" ] || fail "the ANA log names the namespaces '$nsids'"
        seen "smart-log /dev/$controller" "^critical_warning : 0" "^available_spare : 100%" "^media_errors : 0"
        seen "error-log /dev/$controller" "^error Log Entries for device:$controller entries:16"
        seen "effects-log /dev/$controller -c 0" "identify" "format nvm" "flush"
    done
    seen "id-ns /dev/$DISK" "^nsze : 0x2000" "^nmic : 0x1" "^anagrpid *: 1"
    seen "cmdset-ind-id-ns /dev/$controller -n 1" "^nmic : 0x1" "^anagrpid *: 1"
    if nvme id-ns "/dev/$KV" -n 1 > /tmp/out 2>&1; then pairs=$(grep nsze /tmp/out); else pairs=$(tail -1 /tmp/out); fi
    echo "interop: id-ctrl, ana-log, smart-log, error-log, effects-log and id-ns say what is true; id-ns of pairs: $pairs"
}

# Two subsystems in memory at once: neither is taken for the other.
strangers() {
    for nqn in "$ONE" "$OTHER"; do
        # shellcheck disable=SC2086
        nvme connect -t tcp -a 10.0.2.2 -s "$OTHERS_PORT" $HOST -n "$nqn" || fail "connect $nqn"
    done
    sleep 1
    dmesg | grep -i "duplicate" && fail "two devices in memory have the same identifiers"
    nodes=
    for node in /dev/ng*; do nodes="$nodes ${node#/dev/}"; done
    # shellcheck disable=SC2086
    set -- $nodes
    [ $# = 2 ] || fail "not two namespaces:$nodes"
    ours put --device "/dev/$1" who one || fail "put $1"
    ours put --device "/dev/$2" who other || fail "put $2"
    [ "$(ours get --device "/dev/$1" who) $(ours get --device "/dev/$2" who)" = "one other" ] || fail "one namespace for two"
    for nqn in "$ONE" "$OTHER"; do nvme disconnect -n "$nqn" || fail "disconnect $nqn"; done
    echo "interop: two devices in memory are two"
}

# shellcheck disable=SC2086
nvme discover $AT | grep "$NQN" || fail "discovery does not name the subsystem"
for digests in "" "-g" "-G" "-g -G"; do
    # shellcheck disable=SC2086
    nvme connect $AT -n "$NQN" -c 1 -l 120 -k 5 $digests || fail "connect $digests"
    wait_for_devices
    # Sizes around what fits the capsule, a page and a PDU; the conformance suite has many more.
    if [ -z "$digests" ]; then
        by_nvme_cli "1 3 4 511 512 4095 4096 4097 8192 8193 65537 1048576 2097152"
    else
        by_nvme_cli "1 4097 8193 262145 2097152"
    fi
    if [ -z "$digests" ]; then
        ours conform "/dev/$KV" > /tmp/report || { cat /tmp/report; fail "conform"; }
        echo "interop: $(tail -1 /tmp/report)"
        by_saker uring "1 4097 2097152"
        by_saker ioctl "1 2097152"
        blocks
    elif [ "$digests" = "-g -G" ]; then
        by_saker uring "1 65537"
        survive
    fi
    nvme disconnect -n "$NQN" || fail "disconnect"
    echo "interop: digests '$digests' sound"
done
multipath
strangers
echo "interop: PASSED"
poweroff -f
