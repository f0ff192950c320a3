// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backups, growing and scrubbing, on every engine, joined with what else devices do.

mod changes;
mod files;
mod grow;
mod killed;
mod outcomes;
mod rig;
mod scrub;
mod space;
