// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What pads a record of a group is zeros, whatever the group before had in the memory that groups share.

use saker_engine::{Capability, EngineKind, GroupOp};
use saker_engine_suite::layout::{Entry, Payload};
use saker_engine_suite::{Bench, Setup, Size};
use saker_flash::FaultPlan;

/// Groups of stores of two lengths, one of which needs padding; some of them cross pages. A group that only reads goes in front of each, with keys of
/// such bytes if they are told. `None`: the engine carries groups out one by one.
fn written(kind: EngineKind, read_before: Option<u8>) -> Option<Vec<u8>> {
    let setup = Setup { slots: 64, ..Setup::sized(kind, Size(1024, 128, 120), true) };
    let mut bench: Bench = setup.start(FaultPlan::default());
    if !bench.has(Capability::Groups) {
        return None;
    }
    for n in 0..20_u8 {
        if let Some(byte) = read_before {
            let key = |k: u8| [&[byte; 15][..], &[k]].concat();
            let reads: Vec<_> =
                (0..120).map(|k| Entry { op: GroupOp::Retrieve, key: key(k), value: Vec::new() }).collect();
            assert_eq!(bench.group(&Payload::of(&reads)).map(|told| told.len()), Ok(120));
        }
        let value = vec![n; 100 + 4 * usize::from(n % 2)];
        let store = |k: u8| Entry { op: GroupOp::Store, key: vec![n, k], value: value.clone() };
        let stores: Vec<_> = (0..5).map(store).collect();
        assert_eq!(bench.group(&Payload::of(&stores)).map(|told| told.len()), Ok(5));
    }
    Some(bench.flash.page_buffer().memory().to_vec())
}

#[test]
fn a_record_is_padded_with_zeros_whatever_was_read_before() {
    let mut engines = 0;
    for kind in EngineKind::ALL {
        let Some(zeros) = written(*kind, Some(0)) else { continue };
        engines += 1;
        assert!(
            Some(&zeros) == written(*kind, Some(0xFF)).as_ref(),
            "{kind:?}: what was read stands in the page buffer"
        );
        assert!(Some(&zeros) == written(*kind, None).as_ref(), "{kind:?}: reads change what is written");
    }
    assert_eq!(engines, 3, "hash_store, lsm and tree");
}
