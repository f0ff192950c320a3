#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Init of the guest that authenticates. Its last line, "interop: PASSED" or "interop: FAILED ...", is the verdict.
export PATH=/bin:/sbin
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
while read -r module; do insmod "$module"; done < /modules.list
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
. /settings # PORT, NQN, GROUPS; OLD, NEW, CONTROLLER
UUID=11111111-2222-3333-4444-555555555555
WRONG=DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:

fail() {
    dmesg | tail -30
    cat /tmp/error 2> /dev/null
    echo "interop: FAILED $*"
    poweroff -f
}

# connect HOST QUEUES OPTIONS...
connect() {
    host=$1; queues=$2; shift 2
    nvme connect -t tcp -a 10.0.2.2 -s "$PORT" -q "nqn.2026-11.dev.saker:$host" -I $UUID -n "$NQN" -i "$queues" -l 0 "$@" \
        > /tmp/error 2>&1
}

# The character device of the only namespace.
wait_for_device() {
    tries=0
    until KV=$(ls /dev/ng*n* 2> /dev/null | head -1) && [ -n "$KV" ]; do
        tries=$((tries + 1)); [ $tries -gt 300 ] && fail "no device"
        sleep 0.1
    done
}

# said COUNT PATTERN: so many lines of the kernel's log say so since the last `dmesg -c`.
said() {
    [ "$(dmesg | grep -c -e "$2")" = "$1" ] || fail "not $1 times '$2'"
}

# works TEXT: the device keeps a value.
works() {
    wait_for_device
    saker put --device "$KV" key "$1" --quiet 2> /tmp/error || fail "put $1"
    [ "$(saker get --device "$KV" key --quiet 2> /tmp/error)" = "$1" ] || fail "get $1"
}

leave() {
    nvme disconnect -n "$NQN" > /dev/null || fail "disconnect"
}

for group in $GROUPS; do
    for hash in sha256 sha384 sha512; do
        for options in "" "--dhchap-ctrl-secret=$CONTROLLER"; do
            dmesg -c > /dev/null
            before=$(cut -d. -f1 /proc/uptime)
            # shellcheck disable=SC2086
            connect $hash-$group 2 "--dhchap-secret=$OLD" $options || fail "connect $hash $group $options"
            said 1 "qid 0: authenticated with hash hmac($hash) dhgroup $group"
            said "$([ -z "$options" ] && echo 0 || echo 1)" "qid 0: controller authenticated"
            works "$hash-$group"
            leave
            echo "interop: $hash $group ${options:+both ways }in $(($(cut -d. -f1 /proc/uptime) - before)) s"
        done
    done
done

first=sha256-${GROUPS%% *}
dmesg -c > /dev/null
connect $first 1 "--dhchap-secret=$WRONG" && fail "a wrong secret is taken"
connect $first 1 "--dhchap-secret=$OLD" "--dhchap-ctrl-secret=$WRONG" && fail "a wrong controller is taken"
connect $first 1 && fail "no secret is taken"
connect stranger 1 "--dhchap-secret=$OLD" && fail "a stranger is taken"
[ -z "$(ls /dev/ng* 2> /dev/null)" ] || fail "there is a device without a secret"
nvme discover -t tcp -a 10.0.2.2 -s "$PORT" -q "nqn.2026-11.dev.saker:$first" -I $UUID | grep -q "$NQN" || fail "discovery"
echo "interop: wrong secrets, none, and strangers are refused; discovery is open"

# Every combination's host may authenticate again, here by the other of the two secrets, with the device in use.
for group in $GROUPS; do
    dmesg -c > /dev/null
    connect sha256-$group 2 "--dhchap-secret=$OLD" || fail "connect again $group"
    works before
    controller=$(ls -d /sys/class/nvme/nvme* | head -1)
    echo "$NEW" > "$controller/dhchap_secret" || fail "the kernel does not take the new secret"
    tries=0
    until [ "$(dmesg | grep -c 'qid 0: authenticated with hash')" = 2 ]; do
        tries=$((tries + 1)); [ $tries -gt 600 ] && fail "no authentication again with $group"
        sleep 0.1
    done
    works after
    [ "$(cat "$controller/state")" = live ] || fail "the controller is $(cat "$controller/state")"
    leave
    echo "interop: $group authenticates again"
done
echo "interop: PASSED"
poweroff -f
