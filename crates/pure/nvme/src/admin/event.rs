// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DW0 of an Asynchronous Event Request's completion (Base, Asynchronous Event Request command).

/// Type of an event, bits 2:0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventType {
    /// 0: error status.
    Error = 0,
    /// 1: SMART / health status.
    Smart = 1,
    /// 2: notice.
    Notice = 2,
}

/// Notice 00h: a namespace attribute changed.
pub const NOTICE_NAMESPACE_CHANGED: u8 = 0x00;

/// Notice 03h: the access to namespaces changed.
pub const NOTICE_ACCESS_CHANGED: u8 = 0x03;

/// DW0: the event's type, its information (bits 15:8), and the log page that tells more (bits 23:16).
#[must_use]
pub const fn dw0(kind: EventType, information: u8, lid: u8) -> u32 {
    kind as u32 | (information as u32) << 8 | (lid as u32) << 16
}
