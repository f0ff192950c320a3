#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Init of the guest. Its last line, "mooncake: PASSED" or "mooncake: FAILED ...", is the verdict.
export PATH=/bin:/sbin
/bin/busybox mkdir -p /proc /sys /dev /tmp /offload /etc
/bin/busybox --install -s /bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm
while read -r module; do insmod "$module"; done < /modules.list
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
echo "127.0.0.1 localhost" > /etc/hosts
. /settings # PORT, NQN, PYTHON, OBJECTS

fail() {
    tail -25 /tmp/client.log /tmp/master.log 2> /dev/null
    dmesg | tail -15
    echo "mooncake: FAILED $*"
    poweroff -f
}

nvme connect -t tcp -a 10.0.2.2 -s "$PORT" -n "$NQN" -q nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555 \
    -I 11111111-2222-3333-4444-555555555555 > /tmp/client.log 2>&1 || fail "cannot connect"
tries=0
until [ -e /dev/ng0n1 ]; do tries=$((tries + 1)); [ $tries -gt 100 ] && fail "no device"; sleep 0.1; done

export LD_LIBRARY_PATH=/mooncake/mooncake PYTHONPATH=/mooncake
/mooncake/mooncake/mooncake_master --enable_offload=true --rpc_port=50051 > /tmp/master.log 2>&1 &
sleep 2
export MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR=nvme_kv_storage_backend
export MOONCAKE_OFFLOAD_FILE_STORAGE_PATH=/offload
export MOONCAKE_NVME_KV_DEVICE_PATH=/dev/ng0n1
export MOONCAKE_NVME_KV_TRANSPORT=ioctl
export MOONCAKE_OFFLOAD_HEARTBEAT_INTERVAL_SECONDS=1
export MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES=134217728
"$PYTHON" /soak.py "$OBJECTS" /offload 2> /tmp/client.log || fail "the client failed"
[ -z "$(ls -A /offload)" ] || { du -s /offload; ls -R /offload | head; }
echo "mooncake: PASSED"
poweroff -f
