// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host and device joined, in virtual time and without time. One program, so that it is linked once.

mod awaited;
mod block_reads;
mod clocked;
mod collections;
mod contract;
mod cores;
mod cores_cut;
mod counters;
mod dispatch;
mod fallback;
mod flood;
mod gather;
mod groups;
mod host_cores;
mod host_device;
mod host_side;
mod iterators;
mod joined;
mod lists;
mod live;
mod long_keys;
mod memory;
mod methods;
mod prefetch;
mod saker;
mod sessions;
mod shards;
mod stress;
mod table;
mod tuner;
mod versioned;
mod waits;
mod workers;
mod write_control;
