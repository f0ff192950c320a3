// SPDX-License-Identifier: Apache-2.0 OR MIT
//! SGL descriptors.

use proptest::prelude::*;
use saker_nvme::Sqe;
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::sqe::Psdt;
use zerocopy::{FromBytes, IntoBytes};

#[test]
fn golden() {
    let descriptor = SglDescriptor::new(kind::TRANSPORT_DATA_BLOCK, 0x0807_0605_0403_0201, 0x0C0B_0A09);
    assert_eq!(descriptor.as_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0x5A]);
    let sqe = Sqe::new(2, 1).with_sgl(&descriptor);
    let runs: [(usize, &[u8]); 4] = [(0, &[2, 0x40]), (4, &[1]), (24, descriptor.as_bytes()), (63, &[])];
    crate::golden::assert_image(sqe.as_bytes(), &runs);
    assert_eq!(sqe.psdt(), Psdt::Sgl);
    assert_eq!(sqe.with_prp(0, 0).psdt(), Psdt::Prp);
}

proptest! {
    #[test]
    fn any_descriptor_survives_the_entry(bytes: [u8; 16]) {
        let descriptor = SglDescriptor::read_from_bytes(&bytes).unwrap();
        prop_assert_eq!(descriptor.as_bytes(), bytes);
        prop_assert_eq!(Sqe::new(0, 0).with_sgl(&descriptor).sgl(), descriptor);
    }
}
