// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log page C3h of all shards: numbers of one name add up, but for those that are one shard's as they are the device's.

use saker_nvme::vendor_specific::{Counter, CountersHead};
use zerocopy::FromBytes;

/// What is the same in each shard, and what only the one that has most of it tells.
const NOT_ADDED: [&str; 4] = ["flash_page_bytes", "flash_segment_erases_max", "block_bytes", "write_state"];

/// The page of all; the last one as it is where they are too short for their heads. It begins with the head of the whole page, however
/// much of it is asked for.
pub(crate) fn merged(pages: &[Vec<u8>], bytes: usize) -> Vec<u8> {
    let mut all: Vec<Counter> = Vec::new();
    let mut count_max = 0;
    for page in pages {
        let Some(told) = Counter::of_page(page) else { return pages.last().cloned().unwrap_or_default() };
        let head = CountersHead::read_from_prefix(page).map_or(0, |(head, _)| head.count.get());
        count_max = count_max.max(head);
        told.into_iter().for_each(|counter| add(&mut all, counter));
    }
    let mut page = Counter::page(&all);
    if bytes < page.len() || all.len() < count_max as usize {
        // Shards of one engine have the same rows; what is cut off here is asked for with more room.
        let head = CountersHead::new(count_max.max(all.len() as u32));
        page.splice(..size_of::<CountersHead>(), zerocopy::IntoBytes::as_bytes(&head).iter().copied());
    }
    page.resize(bytes, 0);
    page
}

fn add(all: &mut Vec<Counter>, told: Counter) {
    match all.iter_mut().find(|known| known.is_same(&told)) {
        Some(known) if NOT_ADDED.contains(&known.name.as_ref()) => known.value = known.value.max(told.value),
        Some(known) => known.value = known.value.saturating_add(told.value),
        None => all.push(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_nvme::vendor_specific::CounterKind::{Counter as Rising, Gauge};

    fn page(commands: u64, most: u64) -> Vec<u8> {
        let all = [
            Counter::new("device_commands", Rising, 0, commands),
            Counter::new("flash_segment_erases_max", Gauge, 0, most),
            Counter::new("pairs", Gauge, 1, commands),
        ];
        Counter::page(&all)
    }

    #[test]
    fn numbers_of_one_name_add_up() {
        let pages = [page(3, 7), page(4, 5)];
        let told = Counter::of_page(&merged(&pages, pages[0].len())).expect("a page");
        assert_eq!(told.iter().map(|counter| counter.value).collect::<Vec<_>>(), [7, 7, 7]);
    }

    #[test]
    fn a_head_alone_says_how_much_there_is() {
        let pages = [page(3, 7)[..32].to_vec(), page(4, 5)[..32].to_vec()];
        let head = merged(&pages, 32);
        assert_eq!(CountersHead::read_from_bytes(&head).expect("a head").count.get(), 3);
        assert_eq!(merged(&[vec![1, 2]], 2), [1, 2], "shorter than a head");
    }
}
