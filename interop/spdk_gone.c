/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* SPDK's NVMe driver while its device goes: pairs are stored one by one until a command is not answered in time, which is how SPDK's host
 * notices over vfio-user. Then the device is looked for again, and every pair whose store was answered has to be there.
 *
 * usage: spdk_gone TRID FIRST      FIRST is the number of the first pair. Each hundredth answer is told. Exit code 0: nothing is lost. */
#include "spdk/stdinc.h"
#include "spdk/env.h"
#include "spdk/nvme.h"
#include "spdk/nvme_kv.h"

#define VALUE_BYTES 1000
#define TIMEOUT_US 2000000
#define LOOKS_FOR_SECONDS 60

static struct spdk_nvme_ctrlr *ctrlr;
static struct spdk_nvme_qpair *qpair;
static struct spdk_nvme_ns *ns;
static uint8_t *buffer;
static bool gone;

struct waiter {
	bool done;
	struct spdk_nvme_cpl cpl;
};

static void
completed(void *arg, const struct spdk_nvme_cpl *cpl)
{
	struct waiter *waiter = arg;

	waiter->cpl = *cpl;
	waiter->done = true;
}

static void
not_answered(void *arg, struct spdk_nvme_ctrlr *late, struct spdk_nvme_qpair *queue, uint16_t cid)
{
	gone = true;
}

static bool
attach(const struct spdk_nvme_transport_id *trid)
{
	uint32_t nsid;

	ctrlr = spdk_nvme_connect(trid, NULL, 0);
	if (ctrlr == NULL) {
		return false;
	}
	spdk_nvme_ctrlr_register_timeout_callback(ctrlr, TIMEOUT_US, TIMEOUT_US, not_answered, NULL);
	for (nsid = spdk_nvme_ctrlr_get_first_active_ns(ctrlr); nsid != 0;
	     nsid = spdk_nvme_ctrlr_get_next_active_ns(ctrlr, nsid)) {
		ns = spdk_nvme_ctrlr_get_ns(ctrlr, nsid);
		if (spdk_nvme_ns_get_csi(ns) == SPDK_NVME_CSI_KV) {
			break;
		}
	}
	qpair = spdk_nvme_ctrlr_alloc_io_qpair(ctrlr, NULL, 0);
	return nsid != 0 && qpair != NULL;
}

/* The status code of a command; -1 if the device has gone. A command in flight may still write to its waiter when its queue is freed. */
static int
wait_io(int submitted, struct waiter *waiter)
{
	if (submitted != 0) {
		return -1;
	}
	while (!waiter->done && !gone) {
		if (spdk_nvme_qpair_process_completions(qpair, 0) < 0) {
			return -1;
		}
	}
	return waiter->done ? waiter->cpl.status.sc : -1;
}

static void
fill(uint32_t number)
{
	for (uint32_t at = 0; at < VALUE_BYTES; at++) {
		buffer[at] = (uint8_t)(number * 7 + at * 31 + number / 256);
	}
}

static int
store(uint32_t number)
{
	static struct waiter w;
	char key[17];

	memset(&w, 0, sizeof(w));
	snprintf(key, sizeof(key), "gone%010u", number);
	fill(number);
	return wait_io(spdk_nvme_kv_store(ns, qpair, key, strlen(key), buffer, VALUE_BYTES, completed, &w, 0), &w);
}

static bool
is_there(uint32_t number)
{
	static struct waiter w;
	uint8_t expected[VALUE_BYTES];
	char key[17];
	int status;

	memset(&w, 0, sizeof(w));
	snprintf(key, sizeof(key), "gone%010u", number);
	fill(number);
	memcpy(expected, buffer, VALUE_BYTES);
	memset(buffer, 0xEE, VALUE_BYTES);
	status = wait_io(spdk_nvme_kv_retrieve(ns, qpair, key, strlen(key), buffer, VALUE_BYTES, completed, &w, 0), &w);
	return status == 0 && w.cpl.cdw0 == VALUE_BYTES && memcmp(expected, buffer, VALUE_BYTES) == 0;
}

static void
leave(void)
{
	/* Queues of a device that has gone cannot be deleted by commands. */
	if (gone) {
		spdk_nvme_ctrlr_fail(ctrlr);
	}
	spdk_nvme_ctrlr_free_io_qpair(qpair);
	spdk_nvme_detach(ctrlr);
}

int
main(int argc, char **argv)
{
	struct spdk_env_opts opts;
	struct spdk_nvme_transport_id trid = { 0 };
	uint32_t first, next, lost = 0;

	opts.opts_size = sizeof(opts);
	spdk_env_opts_init(&opts);
	opts.name = "spdk_gone";
	opts.no_huge = true;
	opts.no_pci = true;
	opts.mem_size = 256;
	if (argc != 3 || spdk_nvme_transport_id_parse(&trid, argv[1]) != 0 || spdk_env_init(&opts) != 0) {
		fprintf(stderr, "usage: spdk_gone TRID FIRST\n");
		return 2;
	}
	first = strtoul(argv[2], NULL, 10);
	buffer = spdk_zmalloc(4096, 4096, NULL, SPDK_ENV_NUMA_ID_ANY, SPDK_MALLOC_DMA);
	if (buffer == NULL || !attach(&trid)) {
		printf("spdk: FAILED to attach\n");
		return 1;
	}
	for (next = first; store(next) == 0; next++) {
		if ((next - first) % 100 == 99) {
			printf("answered %u\n", next - first + 1);
			fflush(stdout);
		}
	}
	printf("spdk: the device goes behind %u answers\n", next - first);
	fflush(stdout);
	gone = true;
	leave();
	gone = false;
	for (int n = 0; !attach(&trid); n++) {
		if (n == LOOKS_FOR_SECONDS) {
			printf("spdk: FAILED to find the device again\n");
			return 1;
		}
		sleep(1);
	}
	for (uint32_t number = 0; number < next; number++) {
		lost += !is_there(number);
	}
	/* It works as before. */
	lost += store(next) != 0 || !is_there(next);
	printf("next %u\nspdk: %u pairs behind it, %u lost\n", next + 1, next + 1, lost);
	leave();
	spdk_free(buffer);
	spdk_env_fini();
	return lost != 0;
}
