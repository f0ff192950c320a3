//! The protocol from outside.

mod fuzz;
mod parser;
mod requests;
mod support;
