// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handles, on every engine: shared by threads, closed, with scans and transactions that other calls interrupt.

mod classes;
mod sharing;
mod through;
mod together;
