// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host side against a small fake controller.

#[path = "host/admin.rs"]
mod admin;
#[path = "host/client.rs"]
mod client;
#[path = "host/fake.rs"]
mod fake;
#[path = "host/long.rs"]
mod long;
#[path = "host/model.rs"]
mod model;
#[path = "host/pages.rs"]
mod pages;
#[path = "host/queue.rs"]
mod queue;
#[path = "host/store/mod.rs"]
mod store;
#[path = "host/write_stalls.rs"]
mod write_stalls;
