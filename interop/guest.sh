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
    echo "interop: FAILED $*"
    poweroff -f
}

# kv OPCODE DWORDS...: a Key Value command with the key "abcd" (CDW2, CDW11).
kv() {
    opcode=$1; shift
    nvme io-passthru /dev/ng0n1 -n 1 -o "$opcode" --cdw2=0x64636261 --cdw11=4 "$@"
}

wait_for_device() {
    tries=0
    while [ ! -e /dev/ng0n1 ]; do
        tries=$((tries + 1)); [ $tries -gt 100 ] && fail "no /dev/ng0n1"
        sleep 0.1
    done
}

# shellcheck disable=SC2086
nvme discover $AT | grep "$NQN" || fail "discovery does not name the subsystem"
for digests in "" "-g" "-G" "-g -G"; do
    # shellcheck disable=SC2086
    nvme connect $AT -n "$NQN" $digests || fail "connect $digests"
    wait_for_device
    for bytes in 1 3 4 511 512 4095 4096 4097 8192 8193 65537 1048576 2097152; do
        head -c $bytes /dev/urandom > /tmp/in
        kv 0x01 --write --cdw10=$bytes -l $bytes -i /tmp/in > /dev/null 2>&1 || fail "store $bytes"
        kv 0x02 --read --cdw10=$bytes -l $bytes -b > /tmp/out 2> /dev/null || fail "retrieve $bytes"
        cmp /tmp/in /tmp/out || fail "$bytes bytes came back changed"
    done
    kv 0x14 > /dev/null 2>&1 || fail "exist"
    nvme io-passthru /dev/ng0n1 -n 1 -o 0x06 --read --cdw10=64 -l 64 -b > /tmp/list 2> /dev/null || fail "list"
    # NRK 1, KL 4, "abcd".
    printf '\001\000\000\000\004\000abcd' > /tmp/expected
    head -c 10 /tmp/list | cmp - /tmp/expected || fail "the list is wrong"
    kv 0x10 > /dev/null 2>&1 || fail "delete"
    kv 0x14 > /tmp/gone 2>&1 && grep -qi "success" /tmp/gone && fail "a deleted key exists"
    nvme disconnect -n "$NQN" || fail "disconnect"
    echo "digests '$digests': sound"
done
echo "interop: PASSED"
poweroff -f
