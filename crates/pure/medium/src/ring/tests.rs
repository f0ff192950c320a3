use super::control::CONTROL_BYTES;
use super::*;
use crate::Stream;

fn header(addr: u64) -> PageHeader {
    PageHeader {
        owner: 1,
        shard: 0,
        stream: Stream::User,
        epoch: 3,
        sequence: 10 + addr,
        addr: PageAddr(addr),
        used_bytes: 0,
        first_record: 0,
        data_crc: 0,
    }
}

#[test]
fn a_slot_lives_and_is_found_again() {
    let mut ring = Ring::heap(4, 512, 64);
    let slot = ring.open(&header(5)).expect("free slots");
    ring.data_mut(slot)[..3].copy_from_slice(b"abc");
    ring.publish(slot, 3);
    let memory = RingMemory::from_bytes(ring.memory());
    let again = Ring::new(memory, 4, 512, 64);
    let found = again.survey().expect("sound");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].1.addr, found[0].1.published, found[0].1.state), (PageAddr(5), 3, SlotState::Open));
    assert_eq!(&again.data(slot)[..3], b"abc");
    assert_eq!(again.free_slots(), 3);
}

#[test]
fn sealing_writes_a_header_that_matches() {
    let mut ring = Ring::heap(2, 512, 64);
    let slot = ring.open(&header(7)).expect("free slots");
    ring.data_mut(slot).fill(9);
    ring.publish(slot, 100);
    assert_eq!(ring.seal(slot, false), PageAddr(7));
    let h = PageHeader::decode(ring.oob(slot), PageAddr(7)).expect("sound").expect("not erased");
    assert_eq!((h.used_bytes, h.epoch, h.data_crc), (100, 3, page_crc(ring.data(slot), &[])));
    assert!(ring.data(slot)[100..].iter().all(|b| *b == 0), "nothing unpublished leaves the slot");
    ring.release(slot);
    assert_eq!(ring.free_slots(), 2);
}

#[test]
fn any_flip_in_the_control_is_seen() {
    let mut ring = Ring::heap(1, 64, 64);
    let slot = ring.open(&header(1)).expect("free slots");
    ring.publish(slot, 40);
    let good = ring.view(slot).expect("sound");
    for bit in 0..CONTROL_BYTES * 8 {
        let mut memory = ring.memory().to_vec();
        memory[bit / 8] ^= 1 << (bit % 8);
        let bad = Ring::new(RingMemory::from_bytes(&memory), 1, 64, 64);
        assert_ne!(bad.view(slot), Ok(good), "bit {bit}");
        assert!(bad.view(slot).is_err(), "bit {bit} must be an error, not another slot");
    }
}
