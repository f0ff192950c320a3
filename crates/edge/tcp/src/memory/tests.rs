// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Seats without sockets.

use super::*;

const MIB: usize = 1 << 20;
const VALUE: usize = 2 * MIB;

fn memory(total: usize) -> Arc<Memory> {
    Memory::new(total + 10 * FLOOR_BYTES, 10)
}

/// Takes commands of a value each until no more is given; how many.
fn take_all(seat: &mut Seat) -> usize {
    (0..1000).take_while(|taken| seat.raise(taken * VALUE, VALUE)).count()
}

fn used(memory: &Memory) -> usize {
    memory.used()
}

#[test]
fn one_greedy_connection_takes_half_of_a_quarter_and_others_the_half_of_the_rest() {
    let memory = memory(160 * MIB);
    let mut seats: Vec<Seat> = (0..4).map(|id| memory.seat(id)).collect();
    let taken: Vec<usize> = seats.iter_mut().map(take_all).collect();
    // A quarter is 40 MiB; each takes at most what it leaves.
    assert_eq!(taken, [10, 5, 3, 1]);
    assert!(used(&memory) <= 40 * MIB + VALUE);
}

#[test]
fn first_commands_have_the_whole_total_and_then_wait_in_order() {
    let memory = memory(9 * MIB);
    let mut seats: Vec<Seat> = (0..7).map(|id| memory.seat(id)).collect();
    let got: Vec<bool> = seats.iter_mut().map(|seat| seat.raise(0, VALUE)).collect();
    assert_eq!(got, [true, true, true, true, false, false, false]);
    assert!(!seats[0].raise(VALUE, VALUE), "nothing more while others wait");
    // A small command at the end does not overtake, although it would fit.
    let mut small = memory.seat(7);
    assert!(!small.raise(0, 4096) && small.waits());
    seats[5].refresh();
    drop(seats.remove(5));
    seats[1].keep(0);
    assert!(seats[4].refresh() && !seats[4].waits());
    assert_eq!(seats[4].allowed(), FLOOR_BYTES + VALUE);
    assert!(!seats[5].refresh() && seats[5].waits());
    drop(seats);
    assert!(small.refresh());
    drop(small);
    assert_eq!((used(&memory), memory.accounts().members.len()), (0, 0));
    assert!(memory.accounts().queue.is_empty());
}

#[test]
fn what_cannot_be_kept_waiting_is_entered_and_given_back() {
    let memory = memory(8 * MIB);
    let mut seat = memory.seat(1);
    seat.keep(3 * MIB);
    assert_eq!((used(&memory), seat.allowed()), (3 * MIB - FLOOR_BYTES, 3 * MIB));
    seat.keep(2 * MIB);
    assert_eq!(seat.allowed(), 3 * MIB, "no lock for each answer");
    seat.keep(MIB);
    assert_eq!((seat.allowed(), memory.most_used()), (MIB, 3 * MIB - FLOOR_BYTES));
    assert_eq!(seat.share(), 8 * MIB / 4 - (MIB - FLOOR_BYTES));
    seat.keep(20 * MIB);
    assert_eq!(seat.share(), FLOOR_BYTES, "more than the total is as all of it");
}

fn is_cut(seat: &Seat) -> bool {
    let mut cut = std::pin::pin!(seat.signals.cut.notified());
    cut.as_mut().enable()
}

#[test]
fn who_stands_still_goes_only_when_others_wait_and_only_as_many_as_needed() {
    let memory = memory(8 * MIB);
    let mut seats: Vec<Seat> = (0..4).map(|id| memory.seat(id)).collect();
    assert!(seats.iter_mut().all(|seat| seat.raise(0, VALUE)));
    let none = Duration::ZERO;
    assert_eq!((memory.cut(none), memory.cut(none)), (0, 0), "nobody waits");
    let mut waiting = memory.seat(9);
    assert!(!waiting.raise(0, VALUE));
    assert_eq!(memory.cut(none), 0, "their time begins");
    seats[0].moved(MOVED_BYTES_MIN as usize);
    assert_eq!(memory.cut(Duration::from_secs(60)), 0);
    assert_eq!(memory.cut(none), 1);
    let cut: Vec<bool> = seats.iter().map(is_cut).collect();
    assert!(!cut[0] && cut.iter().filter(|cut| **cut).count() == 1, "{cut:?}");
    drop(seats.remove(cut.iter().position(|cut| *cut).expect("one")));
    assert!(waiting.refresh());
}

#[test]
fn any_order_of_taking_and_leaving_keeps_the_books() {
    let memory = memory(12 * MIB);
    let mut seats: BTreeMap<u64, (Seat, usize)> = BTreeMap::new();
    let mut random = 7_u64;
    for step in 0..20_000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (id, what, bytes) = (random >> 60, random >> 32 & 7, (random >> 36) as usize % VALUE);
        let (seat, held) = seats.entry(id).or_insert_with(|| (memory.seat(id), 0));
        if seat.refresh() {
            // The turn is taken: what waited is held now.
            *held = seat.allowed();
        }
        match what {
            0 => drop(seats.remove(&id)),
            1 | 2 => {
                *held /= 2;
                seat.keep(*held);
            }
            _ if seat.raise(*held, bytes) => *held += bytes,
            _ => {}
        }
        let allowed: usize = memory.accounts().members.values().map(Member::above_floor).sum();
        assert_eq!(used(&memory), allowed, "step {step}");
        assert!(allowed <= 12 * MIB, "step {step}: {allowed}");
    }
    seats.clear();
    assert_eq!((used(&memory), memory.accounts().queue.len()), (0, 0));
}
