// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The image file, by behaviour.

mod blocks;
mod crash;
mod crash_pages;
mod cycles;
mod damage;
mod equal;
mod flushed;
mod format;
mod idle;
mod kill;
mod landing;
mod space;
mod store;
mod support;
mod versions;
mod versions_joined;
mod watched;
