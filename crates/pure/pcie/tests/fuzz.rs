// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bytes of any kind, as messages and as accesses: nothing panics, and what is not the driver's stays as it was.

use saker_link::offset;
use saker_pcie::Effect;
use saker_pcie::bar::{VECTORS, region};
use saker_pcie::message::{DESCRIPTORS_MAX, HEADER_BYTES, Header, IrqAction, Request};
use saker_sim::seed::{Rng, Seed};
use saker_testing::{seeds, tier};

use crate::support::Rig;

/// A number that means something more often than chance has it.
fn number(rng: &mut Rng) -> u64 {
    const NOTABLE: [u64; 14] =
        [0, 1, 2, 4, 8, 16, 0x14, 0x24, 0x68, 0x1000, 0x2000, 0x3FFC, 0x4000, 0x7_FFFF];
    match rng.below(6) {
        0 => rng.below(u64::MAX),
        1 => u64::MAX - rng.below(16),
        2 => 1 << rng.below(64),
        _ => NOTABLE[rng.below(NOTABLE.len() as u64) as usize],
    }
}

/// A message: right in its lengths now and then, and wrong in anything.
fn message(rng: &mut Rng) -> Vec<u8> {
    let words = rng.below(12);
    let mut body: Vec<u8> = (0..words).flat_map(|_| (number(rng) as u32).to_le_bytes()).collect();
    if rng.below(8) == 0 {
        body.truncate(rng.below(body.len() as u64 + 1) as usize);
    }
    let size = if rng.below(8) == 0 { number(rng) as u32 } else { (HEADER_BYTES + body.len()) as u32 };
    let flags = if rng.below(4) == 0 { number(rng) as u32 } else { 0 };
    let header = Header { id: number(rng) as u16, command: rng.below(18) as u16, size, flags, error: 0 };
    [&header.bytes()[..], &body].concat()
}

#[test]
fn any_message_is_a_request_or_refused() {
    for seed in seeds(tier(40_000, 400_000_000)) {
        let mut rng = Seed(seed).child("vfio-user").rng();
        let bytes = message(&mut rng);
        let (head, body) = bytes.split_first_chunk::<HEADER_BYTES>().unwrap();
        let Ok(header) = Header::parse(head) else { continue };
        let body = &body[..body.len().min(header.body_bytes())];
        let descriptors = rng.below(20) as usize;
        match Request::parse(&header, body, descriptors) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(Request::RegionWrite { data, .. }) => assert!(data.len() <= body.len()),
            Ok(Request::SetIrqs { start, count, action, .. }) => {
                assert!(start.checked_add(count).is_some());
                assert!(action != IrqAction::Descriptors || count as usize == descriptors);
            }
            Ok(_) => assert!(descriptors <= DESCRIPTORS_MAX),
        }
    }
}

#[test]
fn any_access_leaves_constants_alone() {
    for seed in seeds(tier(300, 200_000)) {
        let mut rng = Seed(seed).child("accesses").rng();
        let mut rig = Rig::new();
        rig.registers.publish_u64(offset::CAP, u64::MAX / 3).unwrap();
        let identity = rig.read::<4>(region::CONFIG, 0);
        for _ in 0..200 {
            let index = [0, 2, 7, 1, 9][rng.below(5) as usize];
            let (at, bytes) = (number(&mut rng), rng.below(40) as usize);
            let data: Vec<u8> = (0..bytes).map(|_| rng.below(256) as u8).collect();
            match rng.below(4) {
                0 => {
                    let mut into = vec![0; bytes];
                    let read = rig.function.read(index, at, &mut into);
                    assert!(read.is_err() || bytes > 0);
                }
                1 => rig.function.set_pending(rng.below(70) as u16),
                _ => {
                    let written = rig.function.write(index, at, &data);
                    assert!(written != Ok(Effect::Reset) || index == region::CONFIG);
                }
            }
        }
        assert_eq!(rig.read::<4>(region::CONFIG, 0), identity);
        assert_eq!(u64::from_le_bytes(rig.read(region::BAR0, 0)), u64::MAX / 3);
        let pending = (0..u16::MAX).filter(|vector| rig.function.take_pending(*vector));
        assert!(pending.into_iter().all(|vector| vector < VECTORS));
        rig.function.reset();
        assert_eq!(rig.registers.load_u32(offset::CC), Ok(0));
    }
}
