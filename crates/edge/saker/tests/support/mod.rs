//! What several rooms of this program need.

pub mod formats;
mod pairs;
pub mod settings;
pub mod transfers;

pub use pairs::{is_soak, key, value};
