//! The public doors, on every engine, in memory and on images. One program, so that it is linked once.

mod cache;
mod capacity;
mod examples;
mod flips;
mod format;
mod format_kill;
mod full;
mod groups;
mod held_back;
mod hostfs;
mod identity;
mod image;
mod kv_cache;
mod leaving;
mod live;
mod namespaces;
mod open;
mod packing;
mod panics;
mod salvage;
mod sessions;
mod settings;
mod sigkill;
mod support;
mod transactions;
mod transfer_kill;
