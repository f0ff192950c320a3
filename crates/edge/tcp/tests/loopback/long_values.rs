// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values of the longest length in transactions, over the network.

#[path = "../../../saker/tests/support/long_values.rs"]
mod cases;

use super::splits::ENGINES;
use super::support::{open, serve};
use saker::Kv;

fn each(mut see: impl FnMut(&mut Kv, bool, &str)) {
    for engine in ENGINES {
        let server = serve(&format!("mem:?size=256MiB&profile=saker-mid&engine={engine}"));
        let mut kv = open(&server, "");
        see(&mut kv, ["lsm", "tree"].contains(&engine), &format!("tcp:, {engine}"));
        kv.close().expect("closes");
        server.stop().expect("stops");
    }
}

#[test]
fn the_longest_values_are_read_in_transactions() {
    each(cases::are_read);
}

#[test]
fn the_longest_values_of_long_keys_are_read_in_transactions() {
    each(|kv, _, what| cases::are_read_by_long_keys(kv, what));
}

#[test]
fn what_is_too_long_to_be_written_or_required_is_refused() {
    each(|kv, _, what| cases::are_refused_where_they_do_not_fit(kv, what));
}
