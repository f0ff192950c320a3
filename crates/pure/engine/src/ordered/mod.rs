//! What stores share that keep keys in order over a value log: keys and entries, blocks of them, the memtable, references
//! into the log and its records.

pub(crate) mod block;
pub(crate) mod filter;
pub(crate) mod key;
mod leaves;
pub(crate) mod memtable;
pub(crate) mod pairs;
pub(crate) mod refs;
pub(crate) mod value;

pub use key::Key;
