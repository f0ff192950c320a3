// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the host file system does to an image: it is full, fails, does half of what it was asked, or cannot sync.

mod calls;
mod create;
mod full;
mod model;
mod resume;
mod sync;
mod tiny;
