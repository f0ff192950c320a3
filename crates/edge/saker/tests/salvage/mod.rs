// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Damaged images: what is given out is right, what is lost is named, and a sound image is made of the rest.

mod blocks;
mod erasure;
mod flips;
mod full;
mod readonly;
mod rig;
mod sectors;
