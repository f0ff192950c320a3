// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The target on sockets. One program, so that it is linked once.

mod clients;
mod examples;
mod format_kill;
mod history_kill;
mod killed;
mod loopback;
mod redis;
mod split_kill;
mod transfer_kill;
mod transfers;
