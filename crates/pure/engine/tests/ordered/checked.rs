// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A page whose checksum was looked at once, and whose bytes change in memory afterwards.

use super::Ordered;
use super::bench::{Bench, OWNER, shape};
use saker_engine::{Condition, KvError};
use saker_flash::nand::{Cell, Cells};
use saker_flash::{FaultPlan, Flash, PowerCut};
use saker_segment_store::{PageAddr, SegmentStore};
use saker_sim::Class;

const PAIRS: u16 = 400;
/// In the first entries of a block or node.
const FLIPPED: usize = 60;

fn key(n: u16) -> Vec<u8> {
    [b"key ".as_slice(), &n.to_be_bytes()].concat()
}

fn pages() -> impl Iterator<Item = PageAddr> {
    let geometry = shape().geometry;
    (0..u64::from(geometry.segments * geometry.segment_pages)).map(PageAddr)
}

/// Pages of which something is noted.
fn checked<S: Ordered>(bench: &mut Bench<S>) -> Vec<PageAddr> {
    let view = bench.flash.view(OWNER, Class::Foreground);
    pages().filter(|page| view.checked(*page).is_some_and(|checked| checked.has(0))).collect()
}

/// Every read is right or an error, and those that lead through a changed page are errors.
pub fn what_changes_after_its_check_is_found<S: Ordered>() {
    let mut bench = Bench::<S>::new(S::small(true), FaultPlan::default());
    for n in 0..PAIRS {
        assert_eq!(bench.put(&key(n), &n.to_be_bytes().repeat(9), Condition::Always), Ok(()));
    }
    bench.flush();
    while bench.background() {}
    (0..PAIRS).for_each(|n| assert_eq!(bench.get(&key(n)), Ok(n.to_be_bytes().repeat(9))));
    let noted = checked(&mut bench);
    assert!(!noted.is_empty(), "no block of a table or node was looked at");
    let (mut media, page_buffer) = bench.flash.cut(PowerCut { seed: 1, ring_kept: true });
    for page in &noted {
        let Cell::Programmed { data, oob } = media.cell(*page) else { continue };
        let (mut data, oob) = (data.to_vec(), oob.to_vec());
        data[FLIPPED] ^= 4;
        media.program(*page, &data, &oob).expect("in memory");
    }
    let mut flash = Flash::power_on(media, page_buffer, None, FaultPlan::default());
    flash.pool_mut().set_quota(OWNER, shape().geometry.segments);
    bench.flash = flash;
    let read: Vec<_> = (0..PAIRS).map(|n| bench.get(&key(n))).collect();
    let right = |n: usize| Ok((n as u16).to_be_bytes().repeat(9));
    assert!(read.iter().enumerate().all(|(n, got)| *got == right(n) || *got == Err(KvError::Corrupt)));
    assert!(read.contains(&Err(KvError::Corrupt)), "nothing was found");
    assert!(checked(&mut bench).iter().all(|page| !noted.contains(page)), "a changed page has a note");
}
