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
    ring.publish(slot, 8);
    let memory = RingMemory::from_bytes(ring.memory());
    let again = Ring::new(memory, 4, 512, 64);
    let found = again.survey().expect("sound");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].1.addr, found[0].1.published, found[0].1.state), (PageAddr(5), 8, SlotState::Open));
    assert_eq!(&again.data(slot)[..3], b"abc");
    assert_eq!(again.free_slots(), 3);
}

#[test]
fn sealing_writes_a_header_that_matches() {
    let mut ring = Ring::heap(2, 512, 64);
    let slot = ring.open(&header(7)).expect("free slots");
    ring.data_mut(slot).fill(9);
    ring.publish(slot, 104);
    assert_eq!(ring.seal(slot, false), PageAddr(7));
    let h = PageHeader::decode(ring.oob(slot), PageAddr(7)).expect("sound").expect("not erased");
    assert_eq!((h.used_bytes, h.epoch, h.data_crc), (104, 3, page_crc(ring.data(slot), &[])));
    assert!(ring.data(slot)[104..].iter().all(|b| *b == 0), "nothing unpublished leaves the slot");
    ring.release(slot);
    assert_eq!(ring.free_slots(), 2);
}

/// Records end at multiples of 8; who forges another length makes its check right.
#[test]
fn a_length_that_no_record_ends_at_is_damage() {
    let mut ring = Ring::heap(1, 512, 64);
    let slot = ring.open(&header(1)).expect("free slots");
    for bytes in [1, 4, 12, 511] {
        ring.publish(slot, bytes);
        assert!(ring.view(slot).is_err() && ring.published(slot).is_none(), "{bytes}");
    }
    ring.publish(slot, 16);
    assert_eq!(ring.published(slot), Some(16));
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

/// Bytes that stand for a mapping of a file.
struct Mapped(Vec<u64>);

impl std::ops::Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        zerocopy::IntoBytes::as_bytes(&self.0[..])
    }
}

impl std::ops::DerefMut for Mapped {
    fn deref_mut(&mut self) -> &mut [u8] {
        zerocopy::IntoBytes::as_mut_bytes(&mut self.0[..])
    }
}

/// Its bytes tell of it for whoever finds them after a kill; in this run it has been released, and nobody is to do so again.
#[test]
fn a_slot_that_waits_for_a_sync_is_not_in_use() {
    let words = vec![0; Ring::bytes_for(2, 512, 64).div_ceil(8)];
    let mut ring = Ring::new(RingMemory::Mapped(Box::new(Mapped(words))), 2, 512, 64);
    let slot = ring.open(&header(5)).expect("a slot");
    ring.publish(slot, 512);
    ring.cover();
    ring.seal(slot, false);
    assert_eq!(ring.survey().expect("sound").len(), 1);
    ring.release(slot);
    assert_eq!((ring.cooling(), ring.free_slots()), (1, 1));
    assert_eq!((ring.view(slot), ring.survey()), (Ok(None), Ok(Vec::new())));
    let found = Ring::new(RingMemory::from_bytes(ring.memory()), 2, 512, 64);
    assert_eq!(found.survey().expect("sound").len(), 1, "a kill brings it back");
    ring.cooled();
    assert_eq!((ring.view(slot), ring.free_slots()), (Ok(None), 2));
}
