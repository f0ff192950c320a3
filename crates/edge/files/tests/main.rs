// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files on devices by their URLs: in images and on the network, beside pairs, when the program or the device goes, when it is full.

mod beside;
mod hybrid;
mod killed;
