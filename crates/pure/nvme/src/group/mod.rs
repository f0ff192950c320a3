// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups: many key-value operations in one command (compound commands, HotStorage'19, sections 2.2 and 5).
//!
//! A payload is packed and describes itself, so a device fetches it with one transfer and a host pays one copy per pair:
//!
//! ```text
//! count u32
//! per entry, by form:
//!   store                      key length u32, key, value length u32, value
//!   retrieve, delete, exist    key length u32, key
//!   mixed                      type u32, then as store or as the others
//! ```
//!
//! All numbers are little-endian. Every key and value is followed by zeros up to a multiple of four: the paper's text does
//! not say so, its Figure 1 does (the second value's length is at 30h, not at 2Fh). A payload has no other gaps and ends
//! with its last entry.
//!
//! # Where the paper is silent
//!
//! | case | answer | why |
//! |---|---|---|
//! | no entries, lengths past the end, bytes behind the last entry | 02h, DW0 is the offset of the bad field | the host meant something else |
//! | key length 0 or above 255 | 86h, DW0 as above | as for the single commands |
//! | padding that is not zero, a reserved bit of a type, an unknown type | 02h, DW0 as above | room for flags and versions: nobody must seem to obey them |
//! | a key that is stored or deleted appears twice | 02h, DW0 is the later entry's offset | the entries of a group have no order, so there is no right answer |
//! | a key appears twice among keys that are only read | both are answered | nothing depends on the order |
//! | reads of a mixed group | the pairs as they were before it | as it leaves them, too: nothing else in it writes them |
//!
//! With bit 8 of CDW11 a group is a transaction: see [`GroupMode`] and [`parse_transaction`]; one in several commands: [`SplitCommand`].
//!
//! A refused payload changes nothing. What an accepted one did is told per operation ([`results`]).

mod command;
mod layout;
mod mode;
pub mod outcomes;
mod pack;
mod pairs;
mod parse;
pub mod results;
mod split;
mod transaction;
mod transaction_results;
mod vector;
mod versioned;

pub use command::{GroupCommand, GroupId, ID_BYTES_MAX, is_group};
pub use layout::{COUNT_BYTES, Form, KEY_BYTES_MAX, LENGTH_BYTES, Op, entry_bytes, padded, payload_bytes};
pub use mode::GroupMode;
pub use pack::{Packer, Refused};
pub use pairs::{PairList, pairs_of};
pub use parse::{Entry, Malformed, Reason, parse, parse_mut};
pub use split::{
    HOST_ID_BYTES, OUTCOME_MARK, OUTCOMES_KEPT, SPLIT_BYTES_MAX, SplitAction, SplitCommand, SplitOutcome,
    TransactionId, asks_for_outcome, is_outcome_key, is_split, parse_part,
};
pub use transaction::{
    Ask, Asked, CountedRange, PairVersion, ToAsk, VERSION_BYTES, pack_part, pack_transaction,
    parse_transaction,
};
pub use transaction_results::{
    TransactionResult, read_transaction_results, result_bytes, write_transaction_results,
};
pub use vector::{PairAddress, VECTOR_HEAD_BYTES, VECTOR_PAIR_BYTES, parse_vector, write_vector};
pub use versioned::{VersionedRetrieve, retrieve_versioned};
