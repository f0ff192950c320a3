//! The `saker` command.

fn main() {}
