// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The protocol from outside.

mod fuzz;
mod parser;
mod requests;
mod support;
