/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Exist of a missing key by SPDK's NVMe driver over vfio-user: the same loop as `cargo run --example exist_speed` of saker-vfio-client, which
 * has our driver, and the same line at the end.
 *
 * usage: spdk_speed FOLDER DEPTH COMMANDS      FOLDER has the socket `cntrl` */
#include "spdk/stdinc.h"
#include "spdk/env.h"
#include "spdk/nvme.h"
#include "spdk/nvme_kv.h"

#define DEPTH_MAX 64

struct flight {
	uint64_t begun;
};

static struct flight flights[DEPTH_MAX];
static uint64_t *latencies, submitted, completed, commands;
static struct spdk_nvme_ns *ns;
static struct spdk_nvme_qpair *qpair;
static int failures;

static void submit(struct flight *flight);

static void
answered(void *arg, const struct spdk_nvme_cpl *cpl)
{
	struct flight *flight = arg;

	latencies[completed++] = spdk_get_ticks() - flight->begun;
	failures += cpl->status.sc != SPDK_NVME_SC_KV_KEY_DOES_NOT_EXIST;
	if (submitted < commands) {
		submit(flight);
	}
}

static void
submit(struct flight *flight)
{
	submitted++;
	flight->begun = spdk_get_ticks();
	if (spdk_nvme_kv_exist(ns, qpair, "nobody", 6, answered, flight) != 0) {
		printf("spdk: FAILED submit\n");
		exit(1);
	}
}

static int
rising(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

int
main(int argc, char **argv)
{
	struct spdk_env_opts opts;
	struct spdk_nvme_transport_id trid = { 0 };
	struct spdk_nvme_ctrlr *ctrlr;
	struct spdk_nvme_io_qpair_opts queue;
	uint32_t depth, nsid;
	uint64_t begun;
	double ns_a_tick, cpu;

	opts.opts_size = sizeof(opts);
	spdk_env_opts_init(&opts);
	opts.name = "spdk_speed";
	opts.no_huge = true;
	opts.no_pci = true;
	opts.mem_size = 128;
	if (argc != 4 || spdk_env_init(&opts) != 0) {
		fprintf(stderr, "usage: spdk_speed FOLDER DEPTH COMMANDS\n");
		return 2;
	}
	depth = atoi(argv[2]);
	commands = strtoull(argv[3], NULL, 10);
	latencies = calloc(commands, sizeof(*latencies));
	if (depth == 0 || depth >= DEPTH_MAX || commands < depth || latencies == NULL) {
		return 2;
	}
	spdk_nvme_trid_populate_transport(&trid, SPDK_NVME_TRANSPORT_VFIOUSER);
	snprintf(trid.traddr, sizeof(trid.traddr), "%s", argv[1]);
	ctrlr = spdk_nvme_connect(&trid, NULL, 0);
	if (ctrlr == NULL) {
		printf("spdk: FAILED connect\n");
		return 1;
	}
	nsid = spdk_nvme_ctrlr_get_first_active_ns(ctrlr);
	ns = spdk_nvme_ctrlr_get_ns(ctrlr, nsid);
	spdk_nvme_ctrlr_get_default_io_qpair_opts(ctrlr, &queue, sizeof(queue));
	queue.io_queue_size = DEPTH_MAX;
	/* One doorbell for all that a turn submits, as ours. */
	queue.delay_cmd_submit = true;
	qpair = spdk_nvme_ctrlr_alloc_io_qpair(ctrlr, &queue, sizeof(queue));
	if (ns == NULL || qpair == NULL) {
		printf("spdk: FAILED a queue\n");
		return 1;
	}
	cpu = cpu_ns();
	begun = spdk_get_ticks();
	for (uint32_t n = 0; n < depth; n++) {
		submit(&flights[n]);
	}
	while (completed < commands) {
		if (spdk_nvme_qpair_process_completions(qpair, 0) < 0) {
			printf("spdk: FAILED the queue\n");
			return 1;
		}
	}
	ns_a_tick = 1e9 / spdk_get_ticks_hz();
	begun = spdk_get_ticks() - begun;
	cpu = cpu_ns() - cpu;
	qsort(latencies, commands, sizeof(*latencies), rising);
	printf("spdk depth %u: %.0f ns a command, %.0f ns CPU, latency %.0f ns median, %.0f ns p99\n", depth,
	       begun * ns_a_tick / commands, cpu / commands, latencies[commands / 2] * ns_a_tick,
	       latencies[commands / 100 * 99] * ns_a_tick);
	spdk_nvme_ctrlr_free_io_qpair(qpair);
	spdk_nvme_detach(ctrlr);
	spdk_env_fini();
	return failures != 0;
}
