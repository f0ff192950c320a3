// SPDX-License-Identifier: Apache-2.0 OR MIT
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
    let mut page_buffer = PageBuffer::heap(4, 512, 64);
    let slot = page_buffer.open(&header(5)).expect("free slots");
    page_buffer.data_mut(slot)[..3].copy_from_slice(b"abc");
    page_buffer.publish(slot, 8);
    let memory = PageBufferMemory::from_bytes(page_buffer.memory());
    let again = PageBuffer::new(memory, 4, 512, 64);
    let found = again.survey().expect("sound");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].1.addr, found[0].1.published, found[0].1.state), (PageAddr(5), 8, SlotState::Open));
    assert_eq!(&again.data(slot)[..3], b"abc");
    assert_eq!(again.free_slots(), 3);
}

#[test]
fn sealing_writes_a_header_that_matches() {
    let mut page_buffer = PageBuffer::heap(2, 512, 64);
    let slot = page_buffer.open(&header(7)).expect("free slots");
    page_buffer.data_mut(slot).fill(9);
    page_buffer.publish(slot, 104);
    assert_eq!(page_buffer.seal(slot, false), PageAddr(7));
    let h = PageHeader::decode(page_buffer.oob(slot), PageAddr(7)).expect("sound").expect("not erased");
    assert_eq!((h.used_bytes, h.epoch, h.data_crc), (104, 3, page_crc(page_buffer.data(slot), &[])));
    assert!(page_buffer.data(slot)[104..].iter().all(|b| *b == 0), "nothing unpublished leaves the slot");
    page_buffer.release(slot);
    assert_eq!(page_buffer.free_slots(), 2);
}

/// Records end at multiples of 8; who forges another length makes its check right.
#[test]
fn a_length_that_no_record_ends_at_is_damage() {
    let mut page_buffer = PageBuffer::heap(1, 512, 64);
    let slot = page_buffer.open(&header(1)).expect("free slots");
    for bytes in [1, 4, 12, 511] {
        page_buffer.publish(slot, bytes);
        assert!(page_buffer.view(slot).is_err() && page_buffer.published(slot).is_none(), "{bytes}");
    }
    page_buffer.publish(slot, 16);
    assert_eq!(page_buffer.published(slot), Some(16));
}

#[test]
fn any_flip_in_the_control_is_seen() {
    let mut page_buffer = PageBuffer::heap(1, 64, 64);
    let slot = page_buffer.open(&header(1)).expect("free slots");
    page_buffer.publish(slot, 40);
    let good = page_buffer.view(slot).expect("sound");
    for bit in 0..CONTROL_BYTES * 8 {
        let mut memory = page_buffer.memory().to_vec();
        memory[bit / 8] ^= 1 << (bit % 8);
        let bad = PageBuffer::new(PageBufferMemory::from_bytes(&memory), 1, 64, 64);
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
    let words = vec![0; PageBuffer::bytes_for(2, 512, 64).div_ceil(8)];
    let mut page_buffer = PageBuffer::new(PageBufferMemory::Mapped(Box::new(Mapped(words))), 2, 512, 64);
    let slot = page_buffer.open(&header(5)).expect("a slot");
    page_buffer.publish(slot, 512);
    page_buffer.cover();
    page_buffer.seal(slot, false);
    assert_eq!(page_buffer.survey().expect("sound").len(), 1);
    page_buffer.release(slot);
    assert_eq!((page_buffer.cooling(), page_buffer.free_slots()), (1, 1));
    assert_eq!((page_buffer.view(slot), page_buffer.survey()), (Ok(None), Ok(Vec::new())));
    let found = PageBuffer::new(PageBufferMemory::from_bytes(page_buffer.memory()), 2, 512, 64);
    assert_eq!(found.survey().expect("sound").len(), 1, "a kill brings it back");
    page_buffer.cooled(1);
    assert_eq!((page_buffer.view(slot), page_buffer.free_slots()), (Ok(None), 2));
}

/// Each list and each state of a page buffer, corrupted one at a time.
#[test]
fn a_check_finds_what_contradicts_itself() {
    let mut page_buffer = PageBuffer::heap(4, 512, 64);
    let (one, two) =
        (page_buffer.open(&header(5)).expect("free"), page_buffer.open(&header(6)).expect("free"));
    page_buffer.publish(one, 8);
    page_buffer.seal(two, false);
    assert_eq!(page_buffer.check(), Ok(()));
    let corrupt = |what: fn(&mut PageBuffer, SlotId)| {
        let mut bad = page_buffer.clone();
        what(&mut bad, one);
        bad.check()
    };
    let faults: [fn(&mut PageBuffer, SlotId); 6] = [
        |page_buffer, slot| page_buffer.free.push(slot.0),
        |page_buffer, _| page_buffer.free.push(9),
        |page_buffer, _| _ = page_buffer.free.pop(),
        |page_buffer, slot| page_buffer.states[usize::from(slot.0)] = SlotState::Sealed,
        |page_buffer, _| page_buffer.cooling.extend(page_buffer.free.pop()),
        |page_buffer, _| page_buffer.free[0] = page_buffer.free[1],
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        assert!(corrupt(fault).is_err(), "fault {n}");
    }
}

#[test]
#[should_panic(expected = "a slot is sealed once")]
fn a_slot_is_not_sealed_twice() {
    let mut page_buffer = PageBuffer::heap(1, 512, 64);
    let slot = page_buffer.open(&header(1)).expect("a slot");
    page_buffer.seal(slot, false);
    page_buffer.seal(slot, false);
}
