// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The small structures of Identify: lists, command sets, descriptors.

use proptest::collection::vec;
use proptest::prelude::*;
use saker_nvme::Status;
use saker_nvme::identify::{
    ActiveNamespaces, CommandSetCombinations, Controller, ControllerList, Descriptor, DescriptorError,
    DescriptorReader, DescriptorWriter, DescriptorsFull, IndependentNamespace, KvController, KvNamespace,
    NvmController, NvmNamespace, pairs_as_blocks,
};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::golden::assert_image;

#[test]
fn small_structures_golden() {
    let mut independent = IndependentNamespace::new_zeroed();
    (independent.nsfeat, independent.nmic, independent.rescap, independent.fpi) = (1, 2, 3, 4);
    independent.anagrpid = 0x0807_0605.into();
    (independent.nsattr, independent.reserved_9) = (9, 10);
    independent.nvmsetid = 0x0C0B.into();
    independent.endgid = 0x0E0D.into();
    independent.nstat = 15;
    independent.reserved_15 = [0xA1; 4081];
    let head: Vec<u8> = (1..=15).collect();
    assert_image(independent.as_bytes(), &[(0, &head), (15, &[0xA1; 4081])]);
    assert_image(IndependentNamespace::new(true).as_bytes(), &[(14, &[1])]);

    let kv = KvController { ver: 0x0001_0300.into(), reserved_4: [0xA1; 4092] };
    assert_image(kv.as_bytes(), &[(1, &[3, 1]), (4, &[0xA1; 4092])]);

    let mut nvm = NvmController::new_zeroed();
    (nvm.vsl, nvm.wzsl, nvm.wusl, nvm.dmrl) = (1, 2, 3, 4);
    nvm.dmrsl = 0x0807_0605.into();
    nvm.dmsl = 0x100F_0E0D_0C0B_0A09.into();
    nvm.reserved_16 = [0xA1; 4080];
    let head: Vec<u8> = (1..=16).collect();
    assert_image(nvm.as_bytes(), &[(0, &head), (16, &[0xA1; 4080])]);
}

#[test]
fn active_list_golden() {
    let list = ActiveNamespaces::after(1, [1, 2, 0x0102_0304]).unwrap();
    assert_image(list.as_bytes(), &[(0, &[2, 0, 0, 0, 4, 3, 2, 1])]);
    assert_eq!(list.iter().collect::<Vec<_>>(), [2, 0x0102_0304]);
    for after in [0xFFFF_FFFE, 0xFFFF_FFFF] {
        assert_eq!(ActiveNamespaces::after(after, [1]), Err(Status::INVALID_NAMESPACE_OR_FORMAT));
    }
    let full = ActiveNamespaces::after(10, 1..5000).unwrap();
    assert!(full.iter().eq(11..11 + 1024));
}

#[test]
fn controller_list_golden() {
    let list = ControllerList::from(2, [1, 2, 0x0403]);
    assert_image(list.as_bytes(), &[(0, &[2, 0, 2, 0, 3, 4])]);
    assert_eq!(list.iter().collect::<Vec<_>>(), [2, 0x0403]);
    let full = ControllerList::from(10, 1..5000);
    assert!(full.iter().eq(10..10 + 2047) && full.count.get() == 2047);
    let hostile = ControllerList { count: u16::MAX.into(), ..full };
    assert_eq!(hostile.iter().count(), 2047);
}

#[test]
fn pairs_as_blocks_golden() {
    let pairs = pairs_as_blocks((3 << 9) + 511, 513);
    assert_image(pairs.as_bytes(), &[(0, &[3]), (8, &[3]), (16, &[2]), (48, &[0xFF, 7]), (130, &[9])]);
    assert_eq!(pairs.block_bytes(), Some(512));
    assert_image(pairs_as_blocks(0, 9).as_bytes(), &[(0, &[1]), (8, &[1]), (16, &[1]), (130, &[9])]);
}

#[test]
fn command_sets_golden() {
    let data = CommandSetCombinations::new(&[0b11, 0x0807_0605_0403_0201]);
    assert_image(data.as_bytes(), &[(0, &[3]), (8, &[1, 2, 3, 4, 5, 6, 7, 8])]);
    assert_eq!(data.iter().collect::<Vec<_>>(), [3, 0x0807_0605_0403_0201]);
}

#[test]
fn descriptors_golden() {
    let list = [
        Descriptor::Eui64([0xE1; 8]),
        Descriptor::Nguid([0xE2; 16]),
        Descriptor::Uuid([0xE3; 16]),
        Descriptor::Csi(1),
    ];
    let mut data = [0xEE; 4096];
    let mut writer = DescriptorWriter::new(&mut data);
    list.iter().for_each(|descriptor| writer.push(descriptor).unwrap());
    assert_image(
        &data,
        &[
            (0, &[1, 8, 0, 0]),
            (4, &[0xE1; 8]),
            (12, &[2, 16, 0, 0]),
            (16, &[0xE2; 16]),
            (32, &[3, 16, 0, 0]),
            (36, &[0xE3; 16]),
            (52, &[4, 1, 0, 0, 1]),
        ],
    );
    let read: Result<Vec<_>, _> = DescriptorReader::new(&data).collect();
    assert_eq!(read.unwrap(), list);
}

#[test]
fn descriptors_full_and_foreign() {
    let mut data = [0; 12];
    let mut writer = DescriptorWriter::new(&mut data);
    writer.push(&Descriptor::Csi(0)).unwrap();
    assert_eq!(writer.push(&Descriptor::Eui64([1; 8])), Err(DescriptorsFull));
    assert_eq!(writer.push(&Descriptor::Other { nidt: 9, nid: &[] }), Err(DescriptorsFull));
    writer.push(&Descriptor::Other { nidt: 9, nid: &[1, 2, 3] }).unwrap();
    assert_eq!(data, [4, 1, 0, 0, 0, 9, 3, 0, 0, 1, 2, 3]);
    let read: Result<Vec<_>, _> = DescriptorReader::new(&data).collect();
    assert_eq!(read.unwrap(), [Descriptor::Csi(0), Descriptor::Other { nidt: 9, nid: &[1, 2, 3] }]);
    let short: Vec<_> = DescriptorReader::new(&[1, 7, 0, 0, 1, 2, 3, 4, 5, 6]).collect();
    assert_eq!(short, [Err(DescriptorError)]);
    let odd: Vec<_> = DescriptorReader::new(&[1, 1, 0, 0, 5]).collect();
    assert_eq!(odd, [Ok(Descriptor::Other { nidt: 1, nid: &[5] })], "an EUI64 of one byte");
}

proptest! {
    #[test]
    fn every_page_is_lossless(bytes in vec(any::<u8>(), 4096)) {
        prop_assert_eq!(crate::golden::reencoded::<Controller>(&bytes), &bytes[..]);
        prop_assert_eq!(crate::golden::reencoded::<KvNamespace>(&bytes), &bytes[..]);
        prop_assert_eq!(crate::golden::reencoded::<NvmNamespace>(&bytes), &bytes[..]);
        prop_assert_eq!(crate::golden::reencoded::<IndependentNamespace>(&bytes), &bytes[..]);
        let nvm = NvmNamespace::read_from_bytes(&bytes).unwrap();
        prop_assert!(nvm.block_bytes().is_none_or(u32::is_power_of_two));
    }

    #[test]
    fn hostile_descriptors_end(bytes in vec(prop_oneof![0_u8..20, any::<u8>()], 0..300)) {
        let items: Vec<_> = DescriptorReader::new(&bytes).collect();
        prop_assert!(items.len() <= bytes.len() / 5 + 1);
        prop_assert!(items.iter().rev().skip(1).all(Result::is_ok), "an error is the last item");
    }
}
