// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The name by which programs that were linked with the shared library look for it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsaker.so.0");
}
