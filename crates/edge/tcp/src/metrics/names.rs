// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each family is: the table of `docs/metrics.md`, which a test compares.

/// Names without `saker_` and `_total`, and what they are.
const HELP: &[(&str, &str)] = &[
    ("build", "1, with the version of the program as a label"),
    ("subsystem_answers", "whether the subsystem answered this scrape"),
    ("connections_accepted", "sockets accepted"),
    ("connections_without_place", "sockets closed at once because all places were taken by connected queues"),
    ("connections_refused", "Connect commands refused"),
    (
        "host_memory_waits",
        "commands that waited because their host held as much memory as it may (`memory_max`)",
    ),
    ("connections_memory_bytes", "memory of all connections beyond what each has for itself"),
    ("connected_queues", "queues that are connected"),
    (
        "controllers",
        "controllers, one for each host that is connected; of a PCIe function 1 while a client is there",
    ),
    ("vfio_user_clients", "clients that have come to a PCIe function"),
    ("vfio_user_clients_expelled", "of these, left because they did what no client does"),
    ("vfio_user_requests", "messages of clients; each doorbell is one where they are not mapped"),
    ("vfio_user_requests_refused", "of these, answered with an errno"),
    ("vfio_user_resets", "resets of the function"),
    ("half_open_controllers", "of these, those whose hosts have not authenticated yet"),
    ("authentication_failures", "authentications that failed"),
    ("commands_in_device", "commands that the device has now"),
    (
        "commands_waiting",
        "commands that wait for their host's turn, for a limit, or for a place in the device's queue",
    ),
    ("commands_waiting_bytes", "bytes that these bring or ask for"),
    ("host_limit_waits", "commands that were first in line and waited for a rate of their host"),
    ("host_limit_wait_seconds", "how long these waited, together"),
    ("namespace_limit_waits", "commands that were first in line and waited for a rate of the namespace"),
    ("namespace_limit_wait_seconds", "how long these waited, together"),
    ("commands", "commands of hosts that were answered, by status"),
    (
        "command_duration_seconds",
        "from when a command was read to when its answer was ready; of a PCIe function only where its device keeps time",
    ),
    ("device_commands", "I/O commands that the device completed, the target's own included"),
    ("device_command_errors", "of these, with an error status"),
    ("host_read_commands", "commands that read user data"),
    ("host_read_bytes", "bytes of user data that they read"),
    ("host_write_commands", "commands that wrote user data"),
    ("host_written_bytes", "bytes of user data that they wrote"),
    ("media_errors", "commands that found data unreadable or not as written"),
    (
        "link_to_device_bytes",
        "entries and data that the device read, without doorbells, stores into BARs and lists of pages",
    ),
    ("link_to_host_bytes", "completions and data that the device wrote to its host"),
    (
        "write_amplification_ratio",
        "bytes programmed for each byte written: `flash` since the opening, `life`, and `log` of a namespace",
    ),
    ("flash_pages_programmed", "pages programmed, failed ones included"),
    ("flash_pages_read", "pages read from the array, where operations take time"),
    ("flash_segments_erased", "segments erased"),
    ("flash_failures", "programs, erases and reads that failed"),
    ("flash_page_bytes", "bytes of a page"),
    ("flash_segments", "segments of the flash"),
    ("flash_segments_retired", "segments given up after failed erases"),
    ("flash_in_use_bytes", "bytes of programmed pages, out-of-band part included"),
    ("flash_segment_erases_max", "erases of the segment that was erased most, in its life"),
    ("flash_segment_erases_all", "erases of all segments together, in their life"),
    ("life_commands", "I/O commands in the life of the device"),
    ("life_command_errors", "of these, with an error status"),
    ("life_host_read_commands", "commands that read user data, in its life"),
    ("life_host_read_bytes", "bytes that they read"),
    ("life_host_write_commands", "commands that wrote user data, in its life"),
    ("life_host_written_bytes", "bytes that they wrote"),
    ("life_media_errors", "media errors in its life"),
    ("life_flash_pages_programmed", "pages programmed in its life"),
    ("life_flash_pages_read", "pages read in its life"),
    ("life_flash_segments_erased", "segments erased in its life"),
    ("life_power_cycles", "openings to write"),
    ("life_unsafe_shutdowns", "of these, behind a run without an orderly end"),
    ("life_power_on_seconds", "whole seconds open to write, run by run"),
    ("write_state", "writes of the namespace: 0 normal, 1 delayed, 2 stopped"),
    ("write_stops", "times that its engine stopped writes"),
    ("write_stop_seconds", "how long, together"),
    ("write_stop_writes", "writes that were held meanwhile"),
    ("write_delays", "times that its engine delayed writes"),
    ("write_delay_seconds", "how long, together"),
    ("write_delay_writes", "writes that were held meanwhile"),
    ("live_bytes", "bytes of records that live"),
    ("capacity_bytes", "bytes of records that may live at once"),
    ("pairs", "pairs; of engines that do not look for what they replace, at most so many"),
    ("pair_bytes", "bytes of keys and values of all pairs"),
    ("user_written_bytes", "bytes of keys and values written by stores and deletes"),
    ("log_pages_programmed", "pages of the namespace's log that were programmed"),
    ("gc_segments", "segments that garbage collection released"),
    ("gc_records_copied", "records that garbage collection copied"),
    ("gc_copied_bytes", "bytes that garbage collection copied"),
    ("gc_blocks_copied", "blocks that garbage collection copied"),
    ("checkpoints", "checkpoints completed"),
    ("checkpoint_bytes", "bytes of checkpoints written"),
    ("memory_index_bytes", "modelled memory of the index"),
    ("memory_directory_bytes", "modelled memory of directories and caches"),
    ("memory_segment_bytes", "modelled memory of segment tables"),
    ("block_bytes", "bytes of a logical block"),
    ("blocks_written", "blocks written"),
    ("engine_number", "a number of the engine's own mechanisms, by its name in `saker info`"),
];

/// What a family is; of a number that a later device has, that it is one.
pub(super) fn help(name: &str) -> &'static str {
    let found = HELP.iter().find(|(known, _)| *known == name);
    found.map_or("a number of the device", |(_, help)| help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_same_rows() {
        let text = include_str!("../../../../../docs/metrics.md");
        let rows = text
            .lines()
            .filter_map(|row| row.strip_prefix("| `saker_")?.strip_suffix(" |")?.split_once("` | "));
        let rows: Vec<_> = rows
            .map(|(name, rest)| {
                (name.strip_suffix("_total").unwrap_or(name), rest.split_once(" | ").unwrap_or_default().1)
            })
            .collect();
        assert_eq!(rows, HELP);
    }
}
