// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores with memtables of few entries above a level 1 that takes long to merge, and several threads: level 0 has many
//! tables, and most of them are small.

use super::adapted::adapted_suite;
use saker_engine::LsmConfig;

pub fn crowded(config: LsmConfig) -> LsmConfig {
    LsmConfig {
        compaction_threads: 2,
        max_write_buffer_number: 3,
        write_buffer_size: 10 * 72,
        max_bytes_for_level_base: 8 << 10,
        level0_file_num_compaction_trigger: 1,
        level0_slowdown_writes_trigger: 20,
        level0_stop_writes_trigger: 36,
        soft_pending_compaction_bytes_limit: 1 << 40,
        hard_pending_compaction_bytes_limit: 1 << 40,
        ..config
    }
}

adapted_suite! { crowded, {
    apart: 0;
    mixed: 64;
    inside: u32::MAX;
    by_turns: saker_engine::lsm::BY_TURNS;
} {
    histories { with_a_capacitor with_failing_programs }
    cuts { kills_at_every_event power_cuts_at_every_event lost_rings_keep_what_was_flushed }
    groups { power_cuts_between_groups a_lost_ring_loses_whole_groups }
    pinned { a_snapshot_reads_from_failed_pages_and_holds_up_no_flush }
    strict { every_need_names_all_pages }
    space { a_full_store_still_reads_deletes_and_then_stores churn_leaks_no_space }
    released {
        makes_room_in_small_segments makes_room_in_larger_segments makes_room_with_default_settings
        is_cut_at_every_event scans_that_come_and_go_hold_up_no_verdict
    }
    nearly_full {
        long_pairs_make_room_for_others every_write_on_the_brink_ends new_pairs_gain_no_capacity
        every_group_on_the_brink_ends
    }
} }
