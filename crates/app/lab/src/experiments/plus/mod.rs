//! The hash FTLs Original and Plus (Duffy, Kim, Kim).

pub mod ablation;
pub mod arithmetic;
pub mod counts;
pub mod cpu;
mod device;
mod timed;
pub mod ycsb;
