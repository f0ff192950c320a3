//! The controller as a device drives it: through registers and admin entries.

mod events;
mod features;
mod format;
mod identify;
mod linux;
mod logs;
mod queues;
mod random;
mod registers;
mod support;
