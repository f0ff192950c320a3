/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stores by methods that only a bus with queues in memory carries, over SPDK's vfio-user transport: a value in the entries of the
 * submission queue (piggyback), in entries behind the command (inline), and in BAR 2 (MMIO). SPDK's NVMe driver writes command identifiers
 * into every entry, so this program has queues of its own; sockets, BARs and memory are SPDK's.
 *
 * usage: spdk_vfio SOCKET      Exit code 0: all came back as they were stored, with so many bytes moved by the device. */
#include "spdk/stdinc.h"
#include "spdk/barrier.h"
#include "spdk/env.h"
#include "spdk/crc32.h"
#include "spdk/nvme_spec.h"
#include "spdk/util.h"
#include "spdk/vfio_user_pci.h"

#define ENTRIES 32
#define PAGE 4096
#define COUNTERS_BYTES (8 * PAGE)
#define VALUE_BYTES 100

struct queue {
	uint16_t id, sq_tail, cq_head;
	uint8_t phase;
	uint8_t (*sq)[64];
	struct spdk_nvme_cpl *cq;
};

struct link {
	uint64_t to_device, to_host;
};

static struct vfio_device *device;
static volatile uint32_t *doorbells;
static struct queue admin, io;
static uint8_t *data, value[VALUE_BYTES], key[] = "method";
static int failures;

static void
must(bool is_true, const char *what)
{
	if (!is_true) {
		printf("spdk: FAILED %s\n", what);
		exit(1);
	}
}

static void
check(bool is_true, const char *what)
{
	if (!is_true) {
		printf("spdk: FAILED %s\n", what);
		failures++;
	}
}

static void *
memory(size_t bytes)
{
	void *at = spdk_zmalloc(bytes, PAGE, NULL, SPDK_ENV_NUMA_ID_ANY, SPDK_MALLOC_DMA);

	must(at != NULL, "memory");
	return at;
}

static void
store_register(uint64_t offset, uint64_t number, size_t bytes)
{
	must(spdk_vfio_user_pci_bar_access(device, 0, offset, bytes, &number, true) == 0, "a register");
}

static uint32_t
status_register(void)
{
	uint32_t csts = 0;

	must(spdk_vfio_user_pci_bar_access(device, 0, 0x1C, 4, &csts, false) == 0, "CSTS");
	return csts;
}

static void
open_queue(struct queue *queue, uint16_t id)
{
	queue->id = id;
	queue->phase = 1;
	queue->sq = memory(ENTRIES * 64);
	queue->cq = memory(ENTRIES * sizeof(struct spdk_nvme_cpl));
}

/* An entry behind those that are there. The doorbell is not rung. */
static void
put_entry(struct queue *queue, const void *entry, size_t bytes)
{
	memset(queue->sq[queue->sq_tail], 0, 64);
	memcpy(queue->sq[queue->sq_tail], entry, bytes);
	queue->sq_tail = (queue->sq_tail + 1) % ENTRIES;
}

static void
ring(struct queue *queue)
{
	spdk_wmb();
	doorbells[2 * queue->id] = queue->sq_tail;
}

static struct spdk_nvme_cpl
completion(struct queue *queue)
{
	volatile struct spdk_nvme_cpl *cpl = &queue->cq[queue->cq_head];
	uint64_t begun = spdk_get_ticks(), patience = 60 * spdk_get_ticks_hz();
	struct spdk_nvme_cpl found;

	while ((cpl->status_raw & 1) != queue->phase) {
		must(spdk_get_ticks() - begun < patience, "no completion");
	}
	spdk_rmb();
	found = *(struct spdk_nvme_cpl *)cpl;
	queue->cq_head = (queue->cq_head + 1) % ENTRIES;
	queue->phase ^= queue->cq_head == 0;
	doorbells[2 * queue->id + 1] = queue->cq_head;
	return found;
}

static struct spdk_nvme_cpl
carry_out(struct queue *queue, const struct spdk_nvme_cmd *cmd)
{
	put_entry(queue, cmd, sizeof(*cmd));
	ring(queue);
	return completion(queue);
}

static bool
is_good(struct spdk_nvme_cpl cpl)
{
	return cpl.status.sc == 0 && cpl.status.sct == 0;
}

/* A command for the key, laid out as Store. */
static struct spdk_nvme_cmd
command(uint8_t opcode, uint32_t bytes)
{
	struct spdk_nvme_cmd cmd = { .opc = opcode, .nsid = 1, .cdw10 = bytes, .cdw11 = sizeof(key) - 1 };

	memcpy((uint8_t *)&cmd + 8, key, sizeof(key) - 1);
	return cmd;
}

static struct link
counted(void)
{
	struct spdk_nvme_cmd cmd = { .opc = SPDK_NVME_OPC_GET_LOG_PAGE, .cdw10 = 0xC3 | (COUNTERS_BYTES / 4 - 1) << 16 };
	uint64_t *list = (uint64_t *)(data + COUNTERS_BYTES);
	struct link link = { 0 };
	uint32_t count;

	for (int n = 1; n < COUNTERS_BYTES / PAGE; n++) {
		list[n - 1] = (uint64_t)data + n * PAGE;
	}
	cmd.dptr.prp.prp1 = (uint64_t)data;
	cmd.dptr.prp.prp2 = (uint64_t)list;
	must(is_good(carry_out(&admin, &cmd)) && memcmp(data, "SKRN", 4) == 0, "log page C3h");
	memcpy(&count, data + 8, 4);
	for (uint32_t n = 0; n < count && 96 + n * 64 <= COUNTERS_BYTES; n++) {
		uint8_t *entry = data + 32 + n * 64;

		if (strcmp((char *)entry, "link_to_device_bytes") == 0) {
			memcpy(&link.to_device, entry + 56, 8);
		}
		if (strcmp((char *)entry, "link_to_host_bytes") == 0) {
			memcpy(&link.to_host, entry + 56, 8);
		}
	}
	return link;
}

/* The value was stored with so many bytes moved by the device: doorbells and stores into BARs are ours; the page itself is taken off. */
static void
judge(const char *method, struct link before, uint64_t to_device, uint64_t to_host)
{
	struct link now = counted(), after = counted();
	uint64_t sent = now.to_device - before.to_device - (after.to_device - now.to_device);
	uint64_t came = now.to_host - before.to_host - (after.to_host - now.to_host);
	struct spdk_nvme_cmd cmd = command(0x02, PAGE);
	struct spdk_nvme_cpl cpl;

	printf("spdk: %s of %d bytes: %" PRIu64 " bytes to the device, %" PRIu64 " back\n", method, VALUE_BYTES, sent, came);
	check(sent == to_device && came == to_host, method);
	memset(data, 0xEE, PAGE);
	cmd.dptr.prp.prp1 = (uint64_t)data;
	cpl = carry_out(&io, &cmd);
	check(is_good(cpl) && cpl.cdw0 == VALUE_BYTES && memcmp(data, value, VALUE_BYTES) == 0, "what was stored");
	cmd = command(0x10, 0);
	check(is_good(carry_out(&io, &cmd)), "delete");
}

static void
piggyback(void)
{
	struct link before = counted();
	uint32_t sum = spdk_crc32c_update(value + 35, VALUE_BYTES - 35, ~0u) ^ ~0u;
	struct spdk_nvme_cmd cmd = command(0xC0, VALUE_BYTES | sum << 16);
	uint8_t *bytes = (uint8_t *)&cmd;

	memcpy(bytes + 16, value, 24);
	memcpy(bytes + 45, value + 24, 11);
	put_entry(&io, &cmd, sizeof(cmd));
	for (int n = 1, at = 35; at < VALUE_BYTES; n++, at += 56) {
		struct spdk_nvme_cmd part = { .opc = 0xC4, .nsid = 1 };

		((uint8_t *)&part)[1] = n << 2;
		memcpy((uint8_t *)&part + 8, value + at, spdk_min(56, VALUE_BYTES - at));
		put_entry(&io, &part, sizeof(part));
	}
	ring(&io);
	for (int n = 0; n < 3; n++) {
		check(is_good(completion(&io)), "a part of a piggybacked value");
	}
	judge("piggyback", before, 3 * 64, 3 * 16);
}

static void
in_line(void)
{
	struct link before = counted();
	struct spdk_nvme_cmd cmd = command(0xCC, VALUE_BYTES);

	put_entry(&io, &cmd, sizeof(cmd));
	put_entry(&io, value, 64);
	put_entry(&io, value + 64, VALUE_BYTES - 64);
	ring(&io);
	check(is_good(completion(&io)), "an inline store");
	judge("inline", before, 3 * 64, 16);
}

static void
mmio(void)
{
	struct link before = counted();
	struct spdk_nvme_cmd cmd = command(0xD0, VALUE_BYTES);
	uint8_t lines[128] = { 0 };

	memcpy(lines, value, VALUE_BYTES);
	must(spdk_vfio_user_pci_bar_access(device, 2, 64, sizeof(lines), lines, true) == 0, "BAR 2");
	cmd.cdw12 = 64;
	check(is_good(carry_out(&io, &cmd)), "an MMIO store");
	/* The lines were stored by this processor. */
	judge("MMIO", before, 64, 16);
}

static void
attach(const char *socket)
{
	uint16_t bus_master = 0x404;
	struct spdk_nvme_cmd cq = { .opc = SPDK_NVME_OPC_CREATE_IO_CQ, .cdw10 = 1 | (ENTRIES - 1) << 16, .cdw11 = 1 };
	struct spdk_nvme_cmd sq = { .opc = SPDK_NVME_OPC_CREATE_IO_SQ, .cdw10 = 1 | (ENTRIES - 1) << 16, .cdw11 = 1 | 1 << 16 };

	device = spdk_vfio_user_setup(socket);
	must(device != NULL, "SPDK does not reach the socket");
	doorbells = spdk_vfio_user_get_bar_addr(device, 0, 0x1000, 0x1000);
	must(doorbells != NULL, "doorbells cannot be mapped: does the server poll?");
	must(spdk_vfio_user_pci_bar_access(device, 7, 4, 2, &bus_master, true) == 0, "bus master");
	open_queue(&admin, 0);
	open_queue(&io, 1);
	data = memory(COUNTERS_BYTES + PAGE);
	store_register(0x24, (ENTRIES - 1) | (ENTRIES - 1) << 16, 4);
	store_register(0x28, (uint64_t)admin.sq, 8);
	store_register(0x30, (uint64_t)admin.cq, 8);
	/* Enabled, all command sets (CSS 110b), entries of 64 and 16 bytes. */
	store_register(0x14, 1 | 6 << 4 | 6 << 16 | 4 << 20, 4);
	while ((status_register() & 1) == 0) {
		must((status_register() & 2) == 0, "the controller fails");
	}
	cq.dptr.prp.prp1 = (uint64_t)io.cq;
	sq.dptr.prp.prp1 = (uint64_t)io.sq;
	must(is_good(carry_out(&admin, &cq)) && is_good(carry_out(&admin, &sq)), "a queue pair");
}

int
main(int argc, char **argv)
{
	struct spdk_env_opts opts;

	opts.opts_size = sizeof(opts);
	spdk_env_opts_init(&opts);
	opts.name = "spdk_vfio";
	opts.no_huge = true;
	opts.no_pci = true;
	opts.mem_size = 64;
	if (argc != 2 || spdk_env_init(&opts) != 0) {
		fprintf(stderr, "usage: spdk_vfio SOCKET\n");
		return 2;
	}
	for (int n = 0; n < VALUE_BYTES; n++) {
		value[n] = (uint8_t)(n * 13 + 5);
	}
	attach(argv[1]);
	piggyback();
	in_line();
	mmio();
	store_register(0x14, 6 << 4 | 6 << 16 | 4 << 20, 4);
	while (status_register() & 1) {
	}
	spdk_vfio_user_release(device);
	spdk_env_fini();
	return failures != 0;
}
