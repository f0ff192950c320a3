// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program as a user meets it: processes, images on a disk, what they print and what they leave.

mod backups;
mod blocks;
mod compare;
mod conform;
mod damage;
mod errors;
mod files;
mod hybrid;
mod images;
mod json;
mod numbers;
mod outputs;
mod processes;
mod profiles;
mod readme;
mod records;
mod sizes;
mod stalls;
mod supervised;
mod support;
mod transactions;
mod urls;
mod variable;
