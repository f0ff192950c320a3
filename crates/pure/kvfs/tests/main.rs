// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file system against a model in memory, power cuts, full devices and forged bytes.

mod apart;
mod cuts;
mod disk;
mod files;
mod flush;
mod followed;
mod forged;
mod full;
mod model;
