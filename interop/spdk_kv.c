/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Store, Retrieve, Exist, List and Delete of SPDK's NVMe driver on the key-value namespace of a controller, Write, Read and Flush on its
 * namespace of blocks, and what it reads of the controller. Over TCP once with each choice of digests, by vfio-user with four
 * attachments one behind the other.
 *
 * usage: spdk_kv TRID      TRID as spdk_nvme_identify takes it. Exit code 0: all calls passed. */
#include "spdk/stdinc.h"
#include "spdk/env.h"
#include "spdk/nvme.h"
#include "spdk/nvme_kv.h"

#define VALUE_BYTES_MAX (2u << 20)

static const uint32_t sizes[] = { 4, 512, 4096, 4100, 8192, 65536, 262144, VALUE_BYTES_MAX };

static struct spdk_nvme_ctrlr *ctrlr;
static struct spdk_nvme_qpair *qpair;
static struct spdk_nvme_ns *ns;
static uint8_t *in, *out;
static int calls, failures;

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

/* The status code of a submitted command, -1 if it was not submitted or its queue is gone. */
static int
wait_io(int submitted, struct waiter *waiter)
{
	if (submitted != 0) {
		return -1;
	}
	while (!waiter->done) {
		if (spdk_nvme_qpair_process_completions(qpair, 0) < 0) {
			return -1;
		}
	}
	return waiter->cpl.status.sc;
}

static int
wait_admin(int submitted, struct waiter *waiter)
{
	if (submitted != 0) {
		return -1;
	}
	while (!waiter->done) {
		if (spdk_nvme_ctrlr_process_admin_completions(ctrlr) < 0) {
			return -1;
		}
	}
	return waiter->cpl.status.sc;
}

static bool
check(bool passed, const char *what, uint32_t bytes, int status)
{
	calls++;
	if (!passed) {
		failures++;
		printf("spdk: FAILED %s of %u bytes: %d\n", what, bytes, status);
	}
	return passed;
}

static int
store(const char *key, uint32_t bytes, uint8_t options)
{
	struct waiter w = { 0 };

	return wait_io(spdk_nvme_kv_store(ns, qpair, key, strlen(key), in, bytes, completed, &w, options), &w);
}

static int
retrieve(const char *key, uint32_t room, uint32_t *bytes)
{
	struct waiter w = { 0 };
	int status = wait_io(spdk_nvme_kv_retrieve(ns, qpair, key, strlen(key), out, room, completed, &w, 0), &w);

	*bytes = w.cpl.cdw0;
	return status;
}

static int
exist(const char *key)
{
	struct waiter w = { 0 };

	return wait_io(spdk_nvme_kv_exist(ns, qpair, key, strlen(key), completed, &w), &w);
}

static int
delete(const char *key)
{
	struct waiter w = { 0 };

	return wait_io(spdk_nvme_kv_delete(ns, qpair, key, strlen(key), completed, &w), &w);
}

static void
one_size(uint32_t bytes)
{
	char key[17];
	uint32_t told = 0;
	int status;

	snprintf(key, sizeof(key), "spdk-%u", bytes);
	for (uint32_t n = 0; n < bytes; n++) {
		in[n] = (uint8_t)(n * 31 + bytes);
	}
	status = store(key, bytes, 0);
	check(status == 0, "store", bytes, status);
	memset(out, 0xEE, bytes);
	status = retrieve(key, bytes, &told);
	check(status == 0 && told == bytes && memcmp(in, out, bytes) == 0, "retrieve", bytes, status);
	status = exist(key);
	check(status == 0, "exist", bytes, status);
	status = store(key, bytes, SPDK_NVME_KV_STORE_OPT_DONT_STORE_IF_KEY_EXISTS);
	check(status == SPDK_NVME_SC_KEY_EXISTS, "store of a key that is there", bytes, status);
}

static void
the_list(uint32_t expected)
{
	struct waiter w = { 0 };
	uint32_t found;
	int status = wait_io(spdk_nvme_kv_list(ns, qpair, NULL, 0, out, 4096, completed, &w), &w);

	memcpy(&found, out, sizeof(found));
	check(status == 0 && found == expected, "list", found, status);
}

static void
gone(uint32_t bytes)
{
	char key[17];
	int status;

	snprintf(key, sizeof(key), "spdk-%u", bytes);
	status = delete(key);
	check(status == 0, "delete", bytes, status);
	status = exist(key);
	check(status == SPDK_NVME_SC_KV_KEY_DOES_NOT_EXIST, "exist of a deleted key", bytes, status);
}

/* SMART's counters after so many stores and retrieves, and the features that SPDK has calls for. */
static void
the_controller(void)
{
	struct spdk_nvme_health_information_page *health = (void *)out;
	struct waiter w = { 0 };
	int status = wait_admin(spdk_nvme_ctrlr_cmd_get_log_page(ctrlr, SPDK_NVME_LOG_HEALTH_INFORMATION,
				SPDK_NVME_GLOBAL_NS_TAG, health, sizeof(*health), 0, completed, &w), &w);
	bool counted = health->host_read_commands[0] >= SPDK_COUNTOF(sizes) &&
		       health->host_write_commands[0] >= SPDK_COUNTOF(sizes) &&
		       health->data_units_read[0] >= 5 && health->data_units_written[0] >= 5;

	check(status == 0 && counted, "health log", sizeof(*health), status);

	memset(&w, 0, sizeof(w));
	status = wait_admin(spdk_nvme_ctrlr_cmd_get_feature(ctrlr, SPDK_NVME_FEAT_HOST_IDENTIFIER, 1, out, 16,
			    completed, &w), &w);
	check(status == 0, "host identifier", 16, status);
	check(spdk_nvme_ctrlr_get_data(ctrlr)->ctratt.hids, "CTRATT bit 0", 0, 0);
}

/* The first active namespace of a command set. SPDK drops one that Identify CNS 00h gives no capacity. */
static struct spdk_nvme_ns *
find(enum spdk_nvme_csi csi)
{
	uint32_t nsid;

	for (nsid = spdk_nvme_ctrlr_get_first_active_ns(ctrlr); nsid != 0;
	     nsid = spdk_nvme_ctrlr_get_next_active_ns(ctrlr, nsid)) {
		struct spdk_nvme_ns *found = spdk_nvme_ctrlr_get_ns(ctrlr, nsid);

		if (found != NULL && spdk_nvme_ns_get_csi(found) == csi &&
		    spdk_nvme_ns_is_active(found)) {
			return found;
		}
	}
	return NULL;
}

/* Blocks that one command moves: SPDK splits longer ones itself. */
static void
the_blocks(void)
{
	struct spdk_nvme_ns *blocks = find(SPDK_NVME_CSI_NVM);
	const uint32_t counts[] = { 1, 8, 300 };
	uint32_t block;

	if (!check(blocks != NULL, "a namespace of blocks", 0, 0)) {
		return;
	}
	block = spdk_nvme_ns_get_sector_size(blocks);
	for (size_t n = 0; n < SPDK_COUNTOF(counts); n++) {
		uint32_t bytes = counts[n] * block;
		struct waiter w = { 0 };
		int status;

		for (uint32_t at = 0; at < bytes; at++) {
			in[at] = (uint8_t)(at * 7 + bytes + at / 4096);
		}
		status = wait_io(spdk_nvme_ns_cmd_write(blocks, qpair, in, 1000 * n, counts[n], completed, &w, 0), &w);
		check(status == 0, "write", bytes, status);
		memset(&w, 0, sizeof(w));
		status = wait_io(spdk_nvme_ns_cmd_flush(blocks, qpair, completed, &w), &w);
		check(status == 0, "flush", bytes, status);
		memset(&w, 0, sizeof(w));
		memset(out, 0xEE, bytes);
		status = wait_io(spdk_nvme_ns_cmd_read(blocks, qpair, out, 1000 * n, counts[n], completed, &w, 0), &w);
		check(status == 0 && memcmp(in, out, bytes) == 0, "read", bytes, status);
	}
}

static void
with_digests(const struct spdk_nvme_transport_id *trid, bool header, bool data)
{
	struct spdk_nvme_ctrlr_opts opts;
	const struct spdk_nvme_kv_ns_data *told;

	spdk_nvme_ctrlr_get_default_ctrlr_opts(&opts, sizeof(opts));
	opts.header_digest = header;
	opts.data_digest = data;
	ctrlr = spdk_nvme_connect(trid, &opts, sizeof(opts));
	if (!check(ctrlr != NULL, "connect", 0, 0)) {
		return;
	}
	ns = find(SPDK_NVME_CSI_KV);
	if (check(ns != NULL, "a key-value namespace", 0, 0)) {
		told = spdk_nvme_kv_ns_get_data(ns);
		check(told != NULL && spdk_nvme_ns_get_size(ns) > 0, "its size", 0, 0);
		qpair = spdk_nvme_ctrlr_alloc_io_qpair(ctrlr, NULL, 0);
		if (check(qpair != NULL, "a queue", 0, 0)) {
			for (size_t n = 0; n < SPDK_COUNTOF(sizes); n++) {
				one_size(sizes[n]);
			}
			the_list(SPDK_COUNTOF(sizes));
			the_controller();
			the_blocks();
			for (size_t n = 0; n < SPDK_COUNTOF(sizes); n++) {
				gone(sizes[n]);
			}
			the_list(0);
			spdk_nvme_ctrlr_free_io_qpair(qpair);
		}
	}
	spdk_nvme_detach(ctrlr);
}

int
main(int argc, char **argv)
{
	struct spdk_env_opts opts;
	struct spdk_nvme_transport_id trid = { 0 };

	opts.opts_size = sizeof(opts);
	spdk_env_opts_init(&opts);
	opts.name = "spdk_kv";
	opts.no_huge = true;
	opts.no_pci = true;
	opts.mem_size = 512;
	if (argc != 2 || spdk_nvme_transport_id_parse(&trid, argv[1]) != 0 || spdk_env_init(&opts) != 0) {
		fprintf(stderr, "usage: spdk_kv TRID\n");
		return 2;
	}
	in = spdk_zmalloc(VALUE_BYTES_MAX, 4096, NULL, SPDK_ENV_NUMA_ID_ANY, SPDK_MALLOC_DMA);
	out = spdk_zmalloc(VALUE_BYTES_MAX, 4096, NULL, SPDK_ENV_NUMA_ID_ANY, SPDK_MALLOC_DMA);
	if (in == NULL || out == NULL) {
		fprintf(stderr, "spdk: no memory\n");
		return 2;
	}
	for (int digests = 0; digests < 4; digests++) {
		with_digests(&trid, digests & 1, digests & 2);
	}
	printf("spdk: %d calls, %d failed\n", calls, failures);
	spdk_free(in);
	spdk_free(out);
	spdk_env_fini();
	return failures != 0;
}
