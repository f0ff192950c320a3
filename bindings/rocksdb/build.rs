// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds RocksDB's side against the headers of the RocksDB that is to load it: Debian's, or those below `ROCKSDB_INCLUDE`; `ROCKSDB_LIB_DIR`
//! has its library.

fn main() {
    #[cfg(feature = "shim")]
    shim();
}

#[cfg(feature = "shim")]
fn shim() {
    for file in ["shim/file_system.cc", "shim/listener.cc", "shim/saker_rocksdb.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-env-changed=ROCKSDB_INCLUDE");
    let mut build = cc::Build::new();
    // Of the crate's RocksDB, which the crate links.
    let of_the_crate = std::env::var("DEP_ROCKSDB_CARGO_MANIFEST_DIR").ok();
    if let Some(folder) = &of_the_crate {
        build.include(format!("{folder}/rocksdb/include"));
    }
    if let Ok(headers) = std::env::var("ROCKSDB_INCLUDE") {
        build.include(headers);
    }
    build
        .cpp(true)
        .std("c++20")
        .file("shim/file_system.cc")
        .file("shim/listener.cc")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Wno-unused-parameter");
    // Its checks of statuses must be off here as they are in the library.
    build.define("NDEBUG", None);
    // Nothing of ours calls it: what registers the factory runs when the library is loaded.
    build.link_lib_modifier("+whole-archive");
    build.compile("saker_rocksdb_shim");
    if of_the_crate.is_some() {
        return;
    }
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB_DIR");
    if let Ok(folder) = std::env::var("ROCKSDB_LIB_DIR") {
        println!("cargo::rustc-link-search=native={folder}");
    }
    println!("cargo::rustc-link-lib=dylib=rocksdb");
}
