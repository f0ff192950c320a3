//! The tree store against a BTreeMap.

mod bench;
mod cuts;
mod histories;
mod snapshots;
mod space;
