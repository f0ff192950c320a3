#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Init of the guest: first of the initial file system, then of the root disk. Prints what it does; its last line, "interop: PASSED"
# or "interop: FAILED ...", is the verdict.
export PATH=/bin:/sbin
mount_all() {
    mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
}

fail() {
    dmesg | tail -40
    cat /tmp/error 2> /dev/null
    echo "interop: FAILED $*"
    poweroff -f
}

# ours COMMAND...: our own program.
ours() {
    saker "$@" --quiet 2> /tmp/error
}

# namespace CONTROLLER NSID: the name (such as ng0n1) of a namespace of a controller; nothing if it is not there.
namespace() {
    for node in /dev/ng*; do
        controller=$(readlink -f "/sys/class/nvme-generic/${node#/dev/}/device")
        case "$controller $(nvme get-ns-id "$node" 2> /dev/null)" in
            */"$1 "*namespace-id:"$2") echo "${node#/dev/}"; return ;;
        esac
    done
}

# wait_for_pairs CONTROLLER: sets KV to the namespace of pairs.
wait_for_pairs() {
    tries=0
    until KV=$(namespace "$1" 1) && [ -n "$KV" ]; do
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "no pairs at $1"
        sleep 0.1
    done
}

# controller SLOT: the name of the controller behind a root port, such as nvme0.
controller() {
    for name in /sys/class/nvme/nvme*; do
        case $(readlink -f "$name/device") in
            */"$1"/*) echo "${name##*/}"; return ;;
        esac
    done
}

if [ ! -e /dev/console.second ] && [ "$1" != second ]; then
    /bin/busybox mkdir -p /proc /sys /dev /tmp /disk
    /bin/busybox --install -s /bin
    mount_all
    while read -r module; do insmod "$module"; done < /modules.list
    tries=0; disk=
    until [ -n "$disk" ]; do
        for node in /dev/nvme*n*; do
            [ -b "$node" ] && mount -t ext4 "$node" /disk 2> /dev/null && disk=$node && break
        done
        tries=$((tries + 1)); [ $tries -gt 300 ] && fail "no root disk"
        sleep 0.1
    done
    echo "interop: $disk, a block namespace, is the root disk"
    umount /proc /sys /dev
    exec switch_root /disk /init second
fi

/bin/busybox --install -s /bin 2> /dev/null
mount_all
mount -t tmpfs none /tmp
BESIDE=; grep -q beside /proc/cmdline && BESIDE=yes
ROOT=$(sed -n 's#^/dev/\(nvme[0-9]*\)n[0-9]* / .*#\1#p' /proc/mounts)
[ -n "$ROOT" ] || fail "the root is no disk of ours: $(cat /proc/mounts)"
OTHER=
for name in /sys/class/nvme/nvme*; do [ "${name##*/}" != "$ROOT" ] && OTHER=${name##*/}; done
SLOT=$(basename "$(readlink -f /sys/class/nvme/"$OTHER"/device)")
irqs=$(grep -c "$ROOT"q /proc/interrupts)
[ "$irqs" -ge 2 ] || fail "no interrupts of $ROOT: $(cat /proc/interrupts)"

if grep -q again /proc/cmdline; then
    wait_for_pairs "$OTHER"
    [ "$(ours get --device "/dev/$KV" kept)" = "over the kill" ] || fail "get after the kill"
    echo "interop: server and guest were killed and came back, with what was acknowledged"
    sync
    echo "interop: PASSED"
    poweroff -f
fi

# Pairs beside the root disk: what the specification says, by our own program; and by nvme-cli, whose buffers the kernel takes up to 127
# pages of.
wait_for_pairs "$ROOT"
ours conform "/dev/$KV" > /tmp/report || fail "conform: $(grep -v "^pass\|^open\|^skipped" /tmp/report)"
echo "interop: $(tail -1 /tmp/report)"
nvme id-ctrl "/dev/$ROOT" > /tmp/out 2>&1 || fail "id-ctrl: $(cat /tmp/out)"
nvme smart-log "/dev/$ROOT" > /tmp/out 2>&1 || fail "smart-log: $(cat /tmp/out)"
for bytes in 1 4096 4097 65537 500000; do
    head -c $bytes /dev/urandom > /tmp/in
    nvme io-passthru "/dev/$KV" -n 1 -o 0x01 --cdw2=0x64636261 --cdw11=4 --write --cdw10=$bytes -l $bytes -i /tmp/in > /dev/null 2>&1 \
        || fail "store $bytes"
    nvme io-passthru "/dev/$KV" -n 1 -o 0x02 --cdw2=0x64636261 --cdw11=4 --read --cdw10=$bytes -l $bytes -b > /tmp/out 2> /dev/null \
        || fail "retrieve $bytes"
    cmp /tmp/in /tmp/out || fail "$bytes bytes came back changed"
done
echo "interop: nvme-cli stores and retrieves over PCIe"
head -c 20000000 /dev/urandom > /root.file && sync && cp /root.file /tmp/copy && echo 3 > /proc/sys/vm/drop_caches
cmp /root.file /tmp/copy || fail "a file of the root disk has changed"
rm /root.file /tmp/copy

# The other controller: pairs that are written and read in rounds until /tmp/stop is there.
load() {
    round=0
    until [ -e /tmp/stop ]; do
        round=$((round + 1))
        awk -v r=$round 'BEGIN { for (n = 0; n < 200; n++) {
            v = r "-" n; while (length(v) < 200) v = v "." n * r; printf "pair%05d\t%s\n", n, v } }' > /tmp/pairs.tsv
        until ours load --device "/dev/$KV?reconnect=120" /tmp/pairs.tsv > /dev/null; do [ -e /tmp/stop ] && return; sleep 0.2; done
        until ours dump --device "/dev/$KV?reconnect=120" /tmp/dump.tsv > /dev/null; do [ -e /tmp/stop ] && return; sleep 0.2; done
        sort /tmp/pairs.tsv > /tmp/written; grep -a '^pair' /tmp/dump.tsv | sort > /tmp/found
        cmp /tmp/written /tmp/found > /dev/null 2>&1 || { echo "pairs of round $round differ" > /tmp/wrong; return; }
        echo $round > /tmp/rounds
    done
}
goes_on() {
    tries=0; before=$(cat /tmp/rounds 2> /dev/null)
    until [ "$(cat /tmp/rounds 2> /dev/null)" != "$before" ]; do
        [ -e /tmp/wrong ] && fail "$(cat /tmp/wrong)"
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "the load stands still: $(cat /tmp/error)"
        sleep 0.2
    done
}
# The second guest, on another device of the first one's server: pairs in rounds, beside files on its root disk.
if [ -n "$BESIDE" ]; then
    cmb=/sys/class/nvme/$ROOT/cmb
    pool=$(readlink -f "/sys/class/nvme/$ROOT/device")/p2pmem
    if [ -d "$pool" ]; then
        cat "$cmb"
        size=$(cat "$pool/size") available=$(cat "$pool/available")
        [ "$size" = 2097152 ] && [ "$available" -lt "$size" ] || fail "$available of $size bytes of the memory buffer are free"
        echo "interop: submission queues are in the controller memory buffer ($((size - available)) bytes)"
    else
        echo "interop: this kernel takes no controller memory buffer"
    fi
    load & loading=$!
    for n in 1 2 3; do
        goes_on
        head -c 5000000 /dev/urandom > "/root.$n" && sync && cp "/root.$n" /tmp/copy && echo 3 > /proc/sys/vm/drop_caches
        cmp "/root.$n" /tmp/copy || fail "a file of the root disk has changed"
    done
    touch /tmp/stop; wait $loading
    [ -e /tmp/wrong ] && fail "$(cat /tmp/wrong)"
    echo "interop: the second guest works beside the first ($(cat /tmp/rounds) rounds)"
    sync
    echo "interop: PASSED"
    poweroff -f
fi
wait_for_pairs "$OTHER"
load & loading=$!
goes_on
for n in 1 2 3; do
    nvme reset "/dev/$OTHER" || fail "reset"
    goes_on; goes_on
done
echo "interop: three resets under load, which goes on ($(cat /tmp/rounds) rounds)"
touch /tmp/stop; wait $loading; rm /tmp/stop
[ -e /tmp/wrong ] && fail "$(cat /tmp/wrong)"

# in_slot: sets OTHER to the controller in the slot, and KV to its pairs.
in_slot() {
    tries=0
    until OTHER=$(ls /sys/bus/pci/devices/"$SLOT"/nvme 2> /dev/null) && [ -n "$OTHER" ]; do
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "no controller $1"; sleep 0.1
    done
    wait_for_pairs "$OTHER"
}
ours put --device "/dev/$KV" kept "over unbind" || fail "put"
echo "$SLOT" > /sys/bus/pci/drivers/nvme/unbind
[ -e "/dev/$KV" ] && fail "it is still bound"
echo 1 > "/sys/bus/pci/devices/$SLOT/reset" || fail "function-level reset"
echo "$SLOT" > /sys/bus/pci/drivers/nvme/bind
in_slot "after bind"
[ "$(ours get --device "/dev/$KV" kept)" = "over unbind" ] || fail "get after bind"
echo "interop: unbound, reset and bound again"

# The device is taken from its driver while a program writes, as a hot plug driver does when its slot is to be empty, and found again. What
# was acknowledged is there.
writes() {
    n=0
    while [ -e "/dev/$KV" ] && ours put --device "/dev/$KV" counter "$n"; do echo $n > /tmp/acknowledged; n=$((n + 1)); done
}
writes & writing=$!
tries=0
until [ "$(cat /tmp/acknowledged 2> /dev/null || echo 0)" -ge 3 ]; do
    tries=$((tries + 1)); [ $tries -gt 600 ] && fail "nothing is written"; sleep 0.1
done
echo 1 > "/sys/bus/pci/devices/$SLOT/remove" || fail "remove"
[ -e "/dev/$KV" ] && fail "it has been removed and is there"
wait $writing
echo 1 > /sys/bus/pci/rescan
in_slot "after the device was found again"
written=$(cat /tmp/acknowledged) found=$(ours get --device "/dev/$KV" counter)
# The write that was not answered may be there.
[ "$found" = "$written" ] || [ "$found" = $((written + 1)) ] || fail "$written was acknowledged, and $found is there"
echo "interop: removed under load and found again ($found writes)"

# The server dies without warning, and this guest with it; the next one looks for this.
ours put --device "/dev/$KV" kept "over the kill" || fail "put before the kill"
writes &
echo "interop: kill the server"
sleep 60
fail "nobody has killed anything"
