// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hybrid against a model: histories with redirections, rollbacks, deletes, scans, snapshots and a full device, with and without
//! power cuts; and that these histories find what is planted.

mod cuts;
mod histories;
mod rig;
