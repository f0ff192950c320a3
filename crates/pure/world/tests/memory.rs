// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a host takes of its memory: with what the table says everything fits that can be taken at once, with one less of
//! either something is refused.

use saker_assembly::{Build, port};
use saker_device::Attachment;
use saker_host::connect::KvQueueOptions;
use saker_host::memory::{Room, Shape, TABLE, needed};
use saker_host::{ConnectOptions, Connection, HostError};
use saker_link::{DmaSpace, Placement};
use saker_nvme::kv::StoreOptions;
use saker_profile::Profile;
use saker_world::Inline;

/// A value that is lent.
const LENT_BYTES: usize = 5000;

/// A host of that shape takes all that it can: every slot of every queue lends a buffer under a long key.
fn take_all(shape: &Shape, room: Room) -> Result<(), HostError> {
    let profile = Profile::builtin("default").expect("built in");
    let build = Build::kv(&profile, 512 << 20, 1).expect("large enough");
    let space = DmaSpace::with_placement(room.pages, room.windows, Placement::At(0));
    let host = Attachment::new(space, build.config.queue_pairs_max);
    let mut device = Inline(build.untimed(host.clone()));
    let options = ConnectOptions { io_queues: shape.queue_pairs, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options)?;
    let options = KvQueueOptions { entries: shape.entries, slots: shape.slots };
    let mut queues = Vec::new();
    for _ in 0..shape.queue_pairs {
        queues.push(connection.create_kv_queue(&mut device, 1, options)?);
    }
    for queue in &mut queues {
        for n in 0..queue.slots() {
            queue.store_indirect(&[n as u8; 200], &[7; LENT_BYTES], StoreOptions::NONE)?;
        }
    }
    Ok(())
}

#[test]
fn what_the_table_says_is_enough_and_no_more_than_that() {
    for (queue_pairs, entries, slots) in [(1, 2, 1), (1, 9, 8), (3, 512, 5), (2, 300, 260), (1, 5, 64)] {
        let shape = Shape { queue_pairs, entries, slots };
        let room = needed(&shape);
        take_all(&shape, room).unwrap_or_else(|e| panic!("{shape:?} with {room:?}: {e}"));
        let page_less = Room { pages: room.pages - 1, ..room };
        assert!(take_all(&shape, page_less).is_err(), "{shape:?}: a page less");
        let window_less = Room { windows: room.windows - 1, ..room };
        assert!(take_all(&shape, window_less).is_err(), "{shape:?}: a window less");
    }
}

#[test]
fn every_claim_counts() {
    let shape = Shape { queue_pairs: 2, entries: 64, slots: 32 };
    let taken = TABLE.map(|claim| (claim.most)(&shape));
    assert!(taken.iter().all(|room| room.pages + room.windows > 0), "{taken:?}");
    assert!(TABLE.iter().all(|claim| !claim.name.is_empty() && !claim.why.is_empty()));
}
