// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine, by itself. One program, so that it is linked once.

mod capacity;
mod documents;
mod hash_ftl;
mod landing;
mod lsm;
mod model;
mod ordered;
mod padding;
mod reserves;
mod tree;
mod window;
