//! What the host file system does to an image: it is full, fails, does half of what it was asked, or cannot sync.

mod calls;
mod create;
mod full;
mod model;
mod resume;
#[path = "../support/mod.rs"]
mod support;
mod sync;
mod tiny;
