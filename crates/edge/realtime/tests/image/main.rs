//! The image file, by behaviour.

mod crash;
mod cycles;
mod damage;
mod equal;
mod kill;
mod space;
mod store;
mod support;
