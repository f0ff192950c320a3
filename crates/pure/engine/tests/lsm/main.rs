//! The LSM store against a BTreeMap.

mod bench;
mod cuts;
mod histories;
mod nearly_full;
mod space;
