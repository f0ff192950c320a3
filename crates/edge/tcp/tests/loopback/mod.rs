// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Target and initiator over real sockets on the loopback interface, ports chosen by the system.

mod authentication;
mod backup;
#[path = "../../../saker/tests/support/batches.rs"]
mod batches;
mod blocks;
mod capacity;
mod commands;
mod commit_through;
#[path = "../../../saker/tests/support/commit_through.rs"]
mod commit_through_cases;
mod counters;
mod flood;
mod format;
mod groups;
mod held_back;
mod hermitage;
mod hybrid;
mod identities;
mod iterators;
mod leaving;
mod limited;
mod limits;
mod lines;
mod long_values;
mod malformed;
mod marked;
#[path = "../../../saker/tests/support/marked.rs"]
mod marked_cases;
mod memory;
mod outcomes;
mod pairs;
mod paths;
mod power;
mod put_off;
#[path = "../../../saker/tests/support/put_off.rs"]
mod put_off_writers;
mod queued_gets;
mod ranges;
mod rates;
mod raw;
mod reads;
mod refused;
mod reload;
mod scans;
mod sessions;
#[path = "../../../saker/tests/support/settings.rs"]
mod settings;
#[path = "../../../saker/tests/support/shared_blocks.rs"]
mod shared_block_cases;
mod shared_blocks;
mod spaces;
mod split_beside;
#[path = "../../../saker/tests/support/split_between.rs"]
mod split_between;
mod split_live;
#[path = "../../../saker/tests/support/split_model.rs"]
mod split_model;
mod split_owners;
mod split_pairs;
mod split_refused;
mod split_sessions;
mod splits;
mod standard;
pub mod support;
mod transactions;
#[path = "../../../saker/tests/support/held_back.rs"]
mod waiting;
