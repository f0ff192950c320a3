//! What several rooms of this program need.

pub mod formats;
pub mod held_back;
mod pairs;
pub mod settings;
pub mod transfers;

pub use pairs::{is_soak, key, value};
