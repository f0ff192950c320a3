// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The example of this crate, as its users run it.

#[path = "../examples/url_tcp.rs"]
mod url_tcp;

#[test]
fn network() {
    url_tcp::main().expect("runs");
}
