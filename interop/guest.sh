#!/bin/busybox sh
# Init of the guest. Prints what it does; its last line, "interop: PASSED" or "interop: FAILED ...", is the verdict.
export PATH=/bin:/sbin
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
while read -r module; do insmod "$module"; done < /modules.list
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
. /settings # PORT, NQN
HOST="-q nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555 -I 11111111-2222-3333-4444-555555555555"
AT="-t tcp -a 10.0.2.2 -s $PORT $HOST"

fail() {
    dmesg | tail -30
    cat /tmp/error 2> /dev/null
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
echo "interop: PASSED"
poweroff -f
