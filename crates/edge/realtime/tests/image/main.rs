//! The image file, by behaviour.

mod cycles;
mod damage;
mod equal;
mod kill;
mod space;
mod support;
