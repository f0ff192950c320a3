//! Every engine, by itself. One program, so that it is linked once.

mod capacity;
mod hash_ftl;
mod lsm;
mod model;
mod ordered;
mod reserves;
mod tree;
mod window;
