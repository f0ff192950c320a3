// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command, as its users call it. One program, so that it is linked once.

mod binary;
mod e2e;
mod experiments;
mod functions;
mod hostfs;
mod operate;
mod redis;
mod reload;
mod scrubbed;
mod serve;
mod target;
