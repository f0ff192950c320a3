// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rust as text: without comments and literals, and its words.

mod lexer;
mod tests_apart;
mod words;

pub use lexer::code_only;
pub use tests_apart::{is_test, without_tests};
pub use words::{find_word, is_identifier};
