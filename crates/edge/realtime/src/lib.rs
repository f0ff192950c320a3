//! Where the pure crates meet the operating system: image files that hold flash and ring.

pub mod image;
