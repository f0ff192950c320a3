// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Erases that fail: what cannot be erased cannot be read either, now or later.

use crate::format::rig::{everywhere, fill, is_empty, is_filled, open, short};
use crate::support::value;
use saker_host::{HostError, KvError};

/// Segments whose erase fails are lost for the run. What was in them does not come back at the next opening, which tries again.
#[test]
fn erases_that_fail_bring_nothing_back() {
    for chance in ["1/1", "1/2", "1/20"] {
        everywhere(|place, what| {
            let what = format!("{what}, {chance} of erases fail");
            let mut whole = open(&place.url);
            let pairs = fill(&mut whole, 1);
            whole.close().expect("closes");
            let mut kv = open(&format!("{}&fault.erase={chance}&fault.seed=3", place.url));
            if !place.is_image {
                (0..40).for_each(|n| kv.put(&short(n), &value(n, 1, 3000)).expect("puts"));
            }
            kv.format().unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(is_empty(&mut kv, (0..pairs).map(|n| short(n).to_vec())), "{what}");
            drop(kv);
            if place.is_image {
                let mut kv = open(&place.url);
                assert!(is_empty(&mut kv, (0..pairs).map(|n| short(n).to_vec())), "{what}, reopened");
                let again = fill(&mut kv, 2);
                assert!(again >= pairs, "{what}: {pairs} pairs when new, {again} afterwards");
                assert!(is_filled(&mut kv, 2, again), "{what}");
                kv.close().expect("closes");
            }
        });
    }
}

/// Segments that left before the Format, because a collection could not erase them, hold old pairs as well.
#[test]
fn segments_that_had_left_before_bring_nothing_back() {
    everywhere(|place, what| {
        if !place.is_image {
            return;
        }
        let mut kv = open(&format!("{}&fault.erase=1/8&fault.seed=5", place.url));
        // Replaced again and again: collections come to all segments. At last too few may be left for the pairs.
        for (version, n) in (0..40).flat_map(|version| (0..300).map(move |n| (version, n))) {
            match kv.put(&short(n), &value(n, version, 3000)) {
                Ok(()) => {}
                Err(HostError::Kv(KvError::Full)) if version > 20 => break,
                Err(e) => panic!("{what}, version {version}: {e}"),
            }
        }
        let retired = kv.stats().expect("a device of this thread").retired_segments;
        assert!(retired > 0, "{what}: no erase has failed");
        kv.format().expect("formats");
        let keys = || (0..300).map(|n| short(n).to_vec());
        assert!(is_empty(&mut kv, keys()), "{what}");
        kv.close().expect("closes");
        let mut kv = open(&place.url);
        assert!(is_empty(&mut kv, keys()), "{what}: {retired} segments had left");
        let pairs = fill(&mut kv, 9);
        assert!(is_filled(&mut kv, 9, pairs) && pairs > 600, "{what}: {pairs} pairs");
    });
}
